import { expect, test } from 'vitest'
import type { RecentSum, RecentView } from '../../telemetry/recent-view.ts'
import { createFakeGateway } from '../test-operations.ts'
import { type FindingSource, findingsFrom } from './findings.ts'
import type { PageJudged, PageLayer } from './page-snapshot.ts'

const now = 1_700_000_000_000
const fake = createFakeGateway().operations
const idle = fake.recent()

const sum = (more: Partial<RecentSum> = {}): RecentSum => ({ ...idle.now, calls: 1_000, minutes: 5, ...more })
const waits = (p95: number) => ({ p50: p95 / 2, p95, p99: p95 * 2 })
const load = (
  current: Partial<RecentSum>,
  before: Partial<RecentSum> = {},
  more: Partial<RecentView> = {},
): RecentView => ({
  ...idle,
  now: sum(current),
  before: sum(before),
  beforeIs: 'hour-ago',
  ...more,
})

function layer(more: Partial<PageLayer> = {}): PageLayer {
  return {
    ...{ name: 'cache', does: '', on: true, stage: 'gateway', said: 'gateway', stop: 0, held: false, where: 'gateway' },
    ...{ moved: null, able: 1, processes: 1, stays: null },
    ...more,
  }
}

function found(more: Partial<FindingSource> = {}) {
  return findingsFrom({
    ...{ now, status: fake.status(), load: load({}), layers: [layer()], judged: [], replicas: null, differences: [] },
    consumers: fake.consumers(),
    ...more,
  })
}
const words = (more: Partial<FindingSource>): string[] => found(more).map(({ words: each }) => each)

test('nothing stands out where all is well', () => {
  expect(found()).toEqual([])
})

test('failing calls are named with how many, and how it was an hour ago', () => {
  expect(words({ load: load({ failed: 42 }, { failed: 1 }) })).toEqual([
    '4.2 % of calls fail: 42 of 1000 in 5 minutes, 0.1 % an hour ago',
  ])
  expect(words({ load: load({ failed: 42 }, { failed: 30 }) })).toEqual([])
  expect(words({ load: load({ calls: 10, failed: 10 }) })).toEqual([])
})

test('slow calls are blamed on the part that has grown', () => {
  const [runner] = words({
    load: load(
      { firstByteMs: waits(900), runnerMs: waits(880), overheadMs: waits(5) },
      { firstByteMs: waits(300), runnerMs: waits(290), overheadMs: waits(5) },
    ),
  })
  expect(runner).toBe('calls wait 900 ms for their first byte (p95), 300 ms an hour ago; it is the runner')
  const [gateway, overhead] = words({
    load: load(
      { firstByteMs: waits(900), runnerMs: waits(300), overheadMs: waits(600) },
      { firstByteMs: waits(300), runnerMs: waits(290), overheadMs: waits(5) },
    ),
  })
  expect(gateway).toMatch(/it is the gateway$/)
  expect(overhead).toBe('the gateway itself takes 600 ms of a call (p95); 50 ms is the limit of the alert')
})

test('what status calls a problem is said in the same words, with its runbook', () => {
  const status = { ...fake.status(), problems: ['runner gpu-a is out of rotation', 'the store does not answer'] }
  expect(found({ status })).toEqual([
    expect.objectContaining({ severity: 'bad', words: 'the store does not answer', runbook: 'store-down' }),
    expect.objectContaining({ severity: 'warn', runbook: 'runner-unavailable' }),
  ])
  const [none] = found({
    status: { ...status, runners: status.runners.map((each) => ({ ...each, available: false })) },
  })
  expect(none).toMatchObject({ severity: 'bad', words: 'runner gpu-a is out of rotation' })
})

test('a freeze is said with who froze, and as no trouble', () => {
  const freeze = { actor: 'ana', reason: 'release day', at: now }
  expect(found({ status: { ...fake.status(), switches: { freeze } } })).toEqual([
    expect.objectContaining({ severity: 'info', words: 'nothing moves forward, frozen by ana: release day' }),
  ])
})

test('layers that fell back, differ, were taken back or are on hold are named', () => {
  const fallbacks = [{ layer: 'prompt', count: 12, reason: 'runner-error' }]
  const differences = [{ layer: 'prompt', hard: 3, compared: 120, worst: 'request.messages' }]
  const moved = { at: now, actor: 'foldgate', reason: 'F1: 3 in a row' }
  expect(
    words({
      load: load({}, {}, { fallbacks }),
      differences,
      layers: [layer({ stage: 'rolled-back', moved }), layer({ name: 'auth', held: true })],
    }),
  ).toEqual([
    'cache is rolled back, by foldgate: F1: 3 in a row',
    'prompt fell back to the gateway for 12 calls in 5 minutes, the last for runner-error',
    'the two halves of prompt differ in 3 of 120 comparisons, most often in request.messages',
    'auth is on hold',
  ])
})

test('blind evidence is told apart from a verdict that does not come', () => {
  const judged = (why: string): PageJudged[] => [
    {
      ...{ layer: 'prompt', said: 'canary 1 %', verdict: 'inconclusive', words: '', why },
      ...{ samples: 0, needed: 1 },
      newestAt: null,
      gates: [],
    },
  ]
  expect(words({ judged: judged('blind: nothing heard of b') })).toEqual([
    'the evidence on prompt is blind: blind: nothing heard of b',
  ])
  expect(words({ judged: judged('inconclusive after 900 calls') })).toEqual([
    'prompt goes no further: inconclusive after 900 calls',
  ])
})

test('replicas that do not agree come first, and callers of headers that go away last', () => {
  const consumer = {
    ...{ tenant: 't1', client: 'ci', agent: 'openai-python', headers: [], firstSeen: now, lastSeen: now },
    ...{ count: 3, warned: 0, shed: 0, tier: 'normal' as const },
  }
  expect(
    found({
      replicas: { agree: 1, of: 3, away: ['b', 'c'] },
      layers: [layer({ stage: 'rolled-back' })],
      consumers: { consumers: [consumer, { ...consumer, tier: 'current' }], capacity: 1, forgotten: 0 },
    }).map(({ id, severity }) => [id, severity]),
  ).toEqual([
    ['replicas', 'bad'],
    ['back cache', 'warn'],
    ['sunset', 'info'],
  ])
})

test('no more is told than anybody reads, and the worst is among it', () => {
  const layers = Array.from({ length: 20 }, (_, number) => layer({ name: `l${number}`, held: true }))
  const all = found({ layers, load: load({ failed: 100 }) })
  expect(all).toHaveLength(8)
  expect(all[0]).toMatchObject({ id: 'errors' })
})
