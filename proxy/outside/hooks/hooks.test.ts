import { describe, expect, it } from 'vitest'
import { analysisFrom } from './analysis.ts'
import { answerFlagger, type FlaggerHook, flaggerHooks } from './flagger.ts'
import type { RolloutsView, RolloutView } from './rollout-view.ts'

const now = 1_790_000_000_000
const routing: RolloutView = {
  ...{
    layer: 'routing',
    stage: 'canary',
    weight: 10,
    held: false,
    verdict: 'inconclusive',
    why: '812 of 930 calls seen',
  },
  ...{ samples: 812, needed: 930, bad: 2, compared: 500, different: 1, evidenceAgeMs: 2_500, rolledBackAt: null },
}
const cache: RolloutView = {
  ...{ ...routing, layer: 'cache', stage: 'gateway', weight: 0, verdict: 'inconclusive', why: 'it is not out' },
  ...{ samples: 0, needed: 0, bad: 0, compared: 0, different: 0, evidenceAgeMs: null },
}
const view = (given: Partial<RolloutView> = {}, around: Partial<RolloutsView> = {}): RolloutsView => ({
  ...{ now, frozen: false, layers: [{ ...routing, ...given }, cache] },
  ...around,
})
const payload = { name: 'runner', namespace: 'llm', phase: 'Progressing', checksum: '1' }
const ask = (hook: FlaggerHook, given: Partial<RolloutView> = {}, metadata: Record<string, string> = {}) =>
  answerFlagger(hook, { ...payload, metadata }, view(given))

describe('a webhook of Flagger', () => {
  const cases: readonly [FlaggerHook, string, Partial<RolloutView>, number, RegExp][] = [
    ['confirm-rollout', 'waits while a layer moves', {}, 403, /^routing is moving \(canary 10 %\)$/],
    ['confirm-rollout', 'passes while none does', { stage: 'native' }, 200, /no layer is moving/],
    ['rollout', 'does not fail for want of evidence', {}, 200, /nothing fails/],
    ['rollout', 'fails with a failure', { verdict: 'fail', why: '3 bad' }, 403, /routing \(canary 10 %\) fail: 3 bad/],
    ['confirm-traffic-increase', 'waits for evidence', {}, 403, /812 of 930 calls seen/],
    ['confirm-traffic-increase', 'passes with it', { verdict: 'pass' }, 200, /every moving layer passes/],
    ['confirm-promotion', 'waits for evidence', {}, 403, /812 of 930/],
    ['confirm-promotion', 'waits for a layer on hold', { verdict: 'pass', held: true }, 403, /, held\)/],
    ['confirm-promotion', 'passes with evidence', { verdict: 'pass' }, 200, /passes/],
    ['rollback', 'is refused while nothing is wrong', {}, 403, /no layer fails/],
    ['rollback', 'rolls back with a failure', { verdict: 'fail', why: '3 bad' }, 200, /^roll back: routing .*3 bad$/],
    ['rollback', 'rolls back after a rollback', { stage: 'rolled-back', rolledBackAt: now - 60_000 }, 200, /roll back/],
    [
      'rollback',
      'not after one of yesterday',
      { stage: 'rolled-back', rolledBackAt: now - 86_400_000 },
      403,
      /no layer/,
    ],
  ]
  it.each(cases)('%s %s', (hook, _, given, status, words) => {
    const answer = ask(hook, given)
    expect([answer.status, answer.words]).toEqual([status, expect.stringMatching(words)])
  })

  it('looks at the layer it names, as long back as it says', () => {
    expect(ask('confirm-rollout', {}, { layer: 'cache' }).status).toBe(200)
    expect(ask('confirm-rollout', {}, { layer: 'nope' })).toEqual({
      status: 404,
      words: 'layer "nope" is not configured',
    })
    const yesterday = { rolledBackAt: now - 86_400_000 }
    expect(ask('rollback', yesterday, { withinSeconds: '90000' }).status).toBe(200)
    expect(ask('rollback', { rolledBackAt: now - 60_000 }, { withinSeconds: '30' }).status).toBe(403)
  })

  it('lets nothing forward while it is frozen, and still rolls back', () => {
    const frozen = (hook: FlaggerHook) =>
      answerFlagger(hook, payload, view({ verdict: 'fail' }, { frozen: true })).status
    expect(flaggerHooks.map(frozen)).toEqual([403, 403, 403, 403, 200])
  })

  it.each([undefined, null, 7, [], { metadata: 7 }, { metadata: [] }])('with the body %j is a mistake', (body) => {
    expect(answerFlagger('rollback', body, view({ verdict: 'fail' })).status).toBe(400)
  })
})

describe('the document for Argo Rollouts', () => {
  it('says what is known', () => {
    expect(analysisFrom(routing)).toEqual({
      data: {
        ...{ layer: 'routing', value: 0, ok: false, verdict: 'inconclusive', why: '812 of 930 calls seen' },
        ...{ stage: 'canary', weight: 10, samples: 812, needed: 930 },
        ...{ successPercent: 810 / 812, diffRate: 0.002, evidenceAgeSeconds: 2 },
      },
    })
  })

  it('reads an absence neither as a zero nor as a success, and has a number everywhere', () => {
    expect(analysisFrom(cache).data).toMatchObject({
      value: 0,
      successPercent: -1,
      diffRate: -1,
      evidenceAgeSeconds: -1,
    })
  })

  it('passes, fails, and passes nobody on hold', () => {
    const of = (given: Partial<RolloutView>) => analysisFrom({ ...routing, ...given }).data
    expect(of({ verdict: 'pass' })).toMatchObject({ value: 1, ok: true })
    expect(of({ verdict: 'fail' })).toMatchObject({ value: -1, ok: false })
    expect(of({ verdict: 'fail', held: true })).toMatchObject({ value: -1 })
    expect(of({ verdict: 'pass', held: true })).toMatchObject({
      value: 0,
      ok: false,
      why: 'on hold; 812 of 930 calls seen',
    })
  })
})
