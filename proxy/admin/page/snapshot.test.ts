import { expect, test } from 'vitest'
import type { DecisionRecord } from '../../folding/rollout/decision-record.ts'
import { recordedDecision } from '../../folding/rollout/decision-record.ts'
import { constantsOf, healthyEvidence, later } from '../../folding/rollout/test-evidence.ts'
import type { AnalysisDocument } from '../../outside/hooks/analysis.ts'
import type { LayerView } from '../layer-view.ts'
import type { ChangeView } from '../stage-view.ts'
import { createFakeGateway } from '../test-operations.ts'
import { pageSnapshotFrom, type Shown } from './snapshot.ts'

const [base] = createFakeGateway().layers as readonly [LayerView]

/** A layer at a stage, with one process that can act for it. */
function layer(name: string, stage: LayerView['stage'], more: Partial<LayerView> = {}): LayerView {
  const processes = [{ runner: 'gpu-a', address: '127.0.0.1:1', able: true }]
  return { ...base, name, stage, weight: 0, processes, ...more }
}

function change(to: string, more: Partial<ChangeView> = {}): ChangeView {
  return { at: later - 60_000, layer: 'prompt', from: 'shadow', to, actor: 'ana', reason: 'OPS-12', ...more }
}

interface Given {
  readonly layers: readonly LayerView[]
  readonly record?: DecisionRecord
  readonly history?: readonly ChangeView[]
  readonly config?: object
}

/** The page's picture of a gateway that has such layers. */
function shownFor({ layers, record, history = [], config = {} }: Given) {
  const fake = createFakeGateway()
  const status = fake.operations.status()
  const policy = { stages: [1, 10, 50, 100], autopilot: false }
  const analysis = { data: { samples: 412, needed: 930, evidenceAgeSeconds: 12 } } as AnalysisDocument
  const operations: Shown = {
    ...fake.operations,
    status: () => ({ ...status, layers }),
    config: () => ({ ...fake.operations.config(), config: { folding: { policy }, ...config } }),
    evidence: () => ({ layers: Object.fromEntries(record ? [['prompt', record] as const] : []) }),
    analysis: () => analysis,
  }
  return pageSnapshotFrom(operations, { now: later, history, runbooks: ['layer-rolled-back'] })
}

test('every layer sits where its stage is, in the order of a call', () => {
  const { stops, layers } = shownFor({
    layers: [
      layer('auth', 'gateway'),
      layer('rate-limit', 'rolled-back'),
      layer('cache', 'shadow'),
      layer('routing', 'canary', { weight: 1 }),
      layer('prompt', 'canary', { weight: 100 }),
      layer('postprocess', 'native', { weight: 100 }),
    ],
  })
  expect(stops).toEqual(['gateway', 'shadow', '1 %', '10 %', '50 %', '100 %', 'native'])
  expect(layers.map(({ name, stop, said }) => [name, stop, said])).toEqual([
    ['auth', 0, 'gateway'],
    ['rate-limit', 0, 'rolled-back'],
    ['cache', 1, 'shadow'],
    ['routing', 2, 'canary 1 %'],
    ['prompt', 5, 'canary 100 %'],
    ['postprocess', 6, 'native'],
  ])
})

test('a layer says since when, by whom and why it is where it is, from its last change', () => {
  const history = [change('shadow', { at: 1 }), change('canary 10 %', { at: 2, actor: 'ben', reason: 'quiet' })]
  const { layers } = shownFor({
    layers: [layer('prompt', 'canary', { weight: 10 }), layer('auth', 'gateway')],
    history,
  })
  expect(layers.map(({ moved }) => moved)).toEqual([{ at: 2, actor: 'ben', reason: 'quiet' }, null])
})

test('what changed is told latest first: moves, rollbacks, reloads that were refused, the start', () => {
  const history = [change('canary 1 %', { at: 1_000 }), change('rolled-back', { at: 3_000, actor: 'foldgate' })]
  const { changes } = shownFor({ layers: [], history })
  expect(changes.map(({ kind, what }) => [kind, what])).toEqual([
    ['start', 'gateway'],
    ['back', 'prompt'],
    ['moved', 'prompt'],
  ])
})

test('the canary says how much it has seen of how much, and every gate as measured against threshold', () => {
  const record = recordedDecision(healthyEvidence({ inFlight: 1 }), constantsOf('S1'), later)
  const { judged } = shownFor({ layers: [layer('prompt', 'canary', { weight: 1 })], record })
  expect(judged).toHaveLength(1)
  expect(judged[0]).toMatchObject({ layer: 'prompt', said: 'canary 1 %', samples: 412, needed: 930 })
  expect(later - (judged[0]?.newestAt ?? 0)).toBeLessThan(20_000)
  const gates = judged[0]?.gates ?? []
  expect(gates).toHaveLength(record.decision.gates.length)
  expect(gates.find(({ name }) => name.startsWith('calls that'))).toEqual({
    name: 'calls that the runner decided',
    measured: '3000',
    threshold: 'at least 930',
    seen: 3000,
    needs: 0,
    met: true,
  })
  expect(gates.find(({ name }) => name === 'time at this step')?.measured).toBe('40 min')
  expect(gates.find(({ name }) => name === 'calls accounted for')?.measured).toMatch(/^\d+(\.\d+)? %$/)
})

test('inconclusive is spelled out, and is no pass', () => {
  const operator = { verb: 'hold', actor: 'mia', reason: 'release freeze' } as const
  const record = recordedDecision(healthyEvidence({ operator }), constantsOf('S1'), later)
  const { judged } = shownFor({ layers: [layer('prompt', 'canary', { weight: 1, held: true })], record })
  expect(judged[0]).toMatchObject({ verdict: 'inconclusive', why: 'mia: release freeze' })
  expect(judged[0]?.words).toMatch(/^Inconclusive: neither good nor bad is proven\./)
})

test('nothing is judged where no layer moves, and a layer that was not judged yet says so', () => {
  expect(shownFor({ layers: [layer('prompt', 'native')] }).judged).toEqual([])
  const [first] = shownFor({ layers: [layer('prompt', 'shadow')] }).judged
  expect(first).toMatchObject({ verdict: 'wait', words: 'Nothing was decided yet.', gates: [] })
})

test('traces are linked where a store is configured whose pages are known', () => {
  const link = (traceStore: object): string | null =>
    shownFor({ layers: [], config: { telemetry: { traceStore } } }).links.trace
  expect(link({ kind: 'jaeger', url: 'http://user:secret@jaeger:16686/' })).toBe('http://jaeger:16686/trace/')
  expect(link({ kind: 'tempo', url: 'http://tempo:3200' })).toBeNull()
  expect(link({ kind: 'jaeger', url: null })).toBeNull()
})
