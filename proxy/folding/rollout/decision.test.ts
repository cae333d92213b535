import { describe, expect, it } from 'vitest'
import { decide } from './decision.ts'
import { isFaithful, recordedDecision } from './decision-record.ts'
import type { Evidence } from './evidence.ts'
import { type AnswerCounts, type AnswerEvent, answerTrials } from './evidence-counts.ts'
import { evidenceFrom } from './evidence-merge.ts'
import type { Gate } from './gate.ts'
import { constantsDigest } from './stage-constants.ts'
import {
  arm,
  began,
  cell,
  constantsOf,
  flush,
  healthyEvidence,
  later,
  marks,
  shadowEvidence,
  viewOf,
} from './test-evidence.ts'

const constants = constantsOf('S1')
const decided = (more: Partial<Evidence> = {}, now = later) => decide(healthyEvidence(more), constants, now)
const gateOf = (gates: readonly Gate[], name: string): Gate | undefined => gates.find((gate) => gate.name === name)

describe('a canary that is well', () => {
  it('is promoted when every gate is met', () => {
    const { kind, gates, fuse } = decided()
    expect([kind, fuse]).toEqual(['promote', undefined])
    expect(gates.every(({ met }) => met)).toBe(true)
    expect(gates.map(({ name }) => name)).toEqual([
      ...['calls', 'units', 'tenants', 'dwell', 'errors-relative', 'mismatches', 'fallbacks', 'errors'],
      ...['latency-relative', 'over-p95', 'coverage:stream', 'coverage:non-stream', 'telemetry', 'incident', 'ignores'],
    ])
  })
  it('goes on while one is open, which is named with its numbers', () => {
    const { kind, reason, gates } = decided({}, began + 60_000)
    expect([kind, reason]).toEqual(['continue', 'open: dwell'])
    expect(gateOf(gates, 'dwell')).toEqual({
      ...{ name: 'dwell', value: 60_000, threshold: 600_000, at: 'least', n: 60_000, needs: 0, met: false },
    })
  })
  it.each([
    ['calls', { cells: [cell('S1', arm(929), arm(9_000))] }],
    ['units', { units: evidenceFrom(viewOf('S1'), [flush({ units: marks('S1', 47) })]).units }],
    ['fallbacks', { cells: [cell('S1', arm(3_000, { fallbacks: { 'runner-error': 30 } }), arm(9_000))] }],
    ['errors', { cells: [cell('S1', arm(970, { bad: 1 }), arm(9_000))] }],
    ['over-p95', { cells: [cell('S1', arm(1_000, { overQ95: 70 }), arm(9_000, { overQ95: 600 }))] }],
    ['coverage:non-stream', { coverage: { stream: 1_400, 'non-stream': 49 } }],
    ['telemetry', { cells: [cell('S1', arm(3_000, { assigned: 3_031 }), arm(9_000))] }],
    ['mismatches', { cells: [cell('S1', arm(3_000), arm(9_000, { mismatches: 1 }))] }],
  ])('stays where it is while %s is open', (name, more) => {
    const { kind, gates } = decided(more)
    expect(kind).toBe('continue')
    expect(gateOf(gates, name)?.met).toBe(false)
  })
  it('counts no fallback that a caller or an operator caused', () => {
    const fallbacks = { 'schema-keyword': 500, 'operator-disabled': 500 }
    const { kind, gates } = decided({ cells: [cell('S1', arm(3_000, { fallbacks }), arm(9_000))] })
    expect([kind, gateOf(gates, 'fallbacks')?.met]).toEqual(['promote', true])
  })
  it('of three tenants, one of which falls into the share, may be promoted', () => {
    const units = evidenceFrom(viewOf('S1'), [flush({ units: marks('S1', 1) })]).units
    const seen = { units: 1, tenants: 1, strata: { stream: 20 } }
    const { kind, gates } = decided({ units, seen })
    expect(kind).toBe('promote')
    expect(gateOf(gates, 'coverage:stream')?.threshold).toBe(16)
    expect(gateOf(gates, 'coverage:non-stream')).toBeUndefined()
  })
  it('may leave S1 with a rule that ignores a hard difference, and S2 not', () => {
    expect(decided({ ignores: 1 }).kind).toBe('promote')
    const second = constantsOf('S2')
    const gates = decide({ ...healthyEvidence(), ...viewOf('S2'), ignores: 1 }, second, later).gates
    expect(gateOf(gates, 'ignores')?.met).toBe(false)
  })
})

describe('without data', () => {
  it.each<[string, Partial<Evidence>, number]>([
    ['not a single call in ten minutes', { cells: [] }, later],
    ['a replica that has not been heard for half a minute', { heard: { a: later - 30_001 } }, later],
    ['a replica that was never heard', { replicas: ['a', 'c'] }, later],
    ['no replica at all', { replicas: [] }, later],
    ['an operator’s hold', { operator: { verb: 'hold', actor: 'ann', reason: 'later' } }, later],
    ['an incident everywhere', { incident: true }, later],
    ['other constants than those that were frozen (scenario 25)', { constantsDigest: 'other' }, later],
    ['the constants of another step', { ...viewOf('S2'), constantsDigest: constantsDigest(constants) }, later],
  ])('%s is a hold', (_, more, now) => {
    expect(decided(more, now).kind).toBe('hold')
  })
  it('too few calls go on until the time is up, and are held then', () => {
    const few = { cells: [cell('S1', arm(5), arm(90))] }
    expect(decided(few).kind).toBe('continue')
    const day = began + 24 * 3_600_000
    const { kind, reason } = decided({ ...few, heard: { a: day } }, day)
    expect(kind).toBe('hold')
    expect(reason).toContain('inconclusive')
  })
  it('as many calls as could be asked for without a verdict are held, not passed', () => {
    const undecided = { cells: [cell('S1', arm(constants.mostCalls, { bad: 7 }), arm(9_000, { bad: 20 }))] }
    expect(decided(undecided)).toMatchObject({ kind: 'hold', reason: expect.stringContaining('inconclusive after') })
  })
})

describe('the shadow', () => {
  const shadow = constantsOf('shadow')
  it('is left after 2,995 clean comparisons, and not after 2,994', () => {
    expect(decide(shadowEvidence(2_995), shadow, later).kind).toBe('promote')
    const early = decide(shadowEvidence(2_994), shadow, later)
    expect([early.kind, early.reason]).toEqual(['continue', 'open: differences (not yet shown, 2,994/2,995)'])
  })
  it('with one difference takes twice as many, as it was looked at before', () => {
    expect(decide(shadowEvidence(5_989, 1), shadow, later).kind).toBe('continue')
    expect(decide(shadowEvidence(5_990, 1), shadow, later).kind).toBe('promote')
  })
  it('of auth takes 29,956', () => {
    const auth = { ...shadow, needs: { ...shadow.needs, differences: 0.0001 } }
    const more = { constantsDigest: constantsDigest(auth) }
    expect(decide(shadowEvidence(29_955, 0, more), auth, later).kind).toBe('continue')
    expect(decide(shadowEvidence(29_956, 0, more), auth, later).kind).toBe('promote')
  })
  it('that differs far too often is held, and nobody is rolled back', () => {
    expect(decide(shadowEvidence(5_000, 40), shadow, later).kind).toBe('hold')
  })
  it('waits for strata that are seen, and for no others', () => {
    const seen = { units: 9, tenants: 3, strata: { stream: 9_000, vip: 500 } }
    expect(decide(shadowEvidence(2_995, 0, { seen }), shadow, later).reason).toBe('open: compared:vip')
  })
  it('that skips more than 5 % is not left', () => {
    const evidence = shadowEvidence()
    const skipping = { ...evidence, shadow: { ...evidence.shadow, eligible: 3_200, skipped: 205 } }
    expect(decide(skipping, shadow, later).reason).toBe('open: compared')
  })
  it('that did something outside is taken back for good', () => {
    const severe = { falseAllow: 0, crossTenant: 0, leakedEffects: 1, billing: 0 }
    expect(decide(shadowEvidence(2_995, 0, { severe }), shadow, later)).toMatchObject({
      ...{ kind: 'rollback', fuse: 'F1', permanent: true },
    })
  })
})

it('the last step takes a day and 29,956 calls without a failure', () => {
  const last = constantsOf('S4')
  const day = began + 24 * 3_600_000
  const evidence = (calls: number, failed = 0): Evidence => ({
    ...healthyEvidence({ coverage: {}, heard: { a: day, b: day } }),
    ...viewOf('S4'),
    ...{ seen: { units: 60, tenants: 60, strata: {} }, shares: { free: 0.98 } },
    cells: [cell('S4', arm(calls, { failed, bad: failed }), arm(600))],
    units: evidenceFrom(viewOf('S4'), [flush({ units: marks('S4', 6, { arm: 'canary' }) })]).units,
  })
  expect(decide(evidence(29_956), last, day).kind).toBe('promote')
  expect(decide(evidence(29_955), last, day).reason).toBe('open: failures (not yet shown, 29,955/29,956)')
  expect(decide(evidence(40_000, 1), last, day).reason).toBe('open: failures (not yet shown, 40,000/59,912)')
  expect(decide(evidence(29_956), last, day - 1).reason).toBe('open: dwell')
})

it('a record decides over again as it did', () => {
  const record = recordedDecision(healthyEvidence(), constants, later)
  const read = JSON.parse(JSON.stringify(record))
  expect(isFaithful(read)).toBe(true)
  expect(isFaithful({ ...read, decision: { ...read.decision, kind: 'rollback' } })).toBe(false)
  expect(isFaithful({ ...read, evidence: { ...read.evidence, cells: [] } })).toBe(false)
})

describe('answers that are worse in the canary', () => {
  const answering = (canary: AnswerCounts, control: AnswerCounts, step: 'S1' | 'S4' = 'S1') => {
    const one = cell(step, arm(3_000, { answers: canary }), arm(9_000, { answers: control }))
    return decide({ ...healthyEvidence(), cells: [one] }, constants, later)
  }
  const like = (event: AnswerEvent, canary: number, control: number) => {
    const trials = answerTrials[event]
    return answering({ [trials]: 1_000, [event]: canary }, { [trials]: 3_000, [event]: control })
  }
  it.each<[string, AnswerEvent]>([
    ['cut', 'cut'],
    ['declined', 'declined'],
    ['length', 'short'],
    ['length', 'long'],
    ['feedback', 'disliked'],
    ['quality', 'poor'],
  ])('stand in the way of promotion, and take nothing back: %s (%s)', (question, event) => {
    const worse = like(event, 60, 60)
    expect([worse.kind, worse.reason]).toEqual(['continue', `open: answers:${question}`])
    expect(gateOf(worse.gates, `answers:${question}`)).toMatchObject({ met: false, n: 1_000 })
    expect(like(event, 20, 60).kind).toBe('promote')
    expect(like(event, 5, 60).kind).toBe('promote')
  })
  it('are held against the control at the same time, where both go wrong nobody is to blame', () => {
    expect(like('cut', 500, 1_500).kind).toBe('promote')
  })
  it('have to have been looked at before the last step is left, where the control had any', () => {
    const last = constantsOf('S4')
    const of = (looked: number): Evidence => ({
      ...healthyEvidence(),
      ...viewOf('S4'),
      cells: [
        cell('S4', arm(40_000, { answers: { looked } }), arm(600)),
        cell('S3', arm(0), arm(9_000, { answers: { looked: 9_000 } })),
      ],
    })
    const gate = (looked: number) => gateOf(decide(of(looked), last, later).gates, 'answers:cut')
    expect([gate(299)?.met, gate(300)?.met]).toEqual([false, true])
  })
  it('of layers that are drawn by tenant count once a tenant', () => {
    const byTenant = constantsOf('S1', 'tenant')
    const units = evidenceFrom(viewOf('S1'), [
      flush({
        units: marks('S1', 60).map((mark, index) => ({
          ...mark,
          events: mark.arm === 'canary' && index < 30 ? (['cut'] as const) : [],
        })),
      }),
    ]).units
    const one = cell(
      'S1',
      arm(3_000, { answers: { looked: 1_000, cut: 30 } }),
      arm(9_000, { answers: { looked: 3_000, cut: 90 } }),
    )
    const evidence = { ...healthyEvidence({ units, cells: [one] }), constantsDigest: constantsDigest(byTenant) }
    expect(decide(evidence, byTenant, later).reason).toBe('open: answers:cut')
    expect(decide({ ...evidence, constantsDigest: constantsDigest(constants) }, constants, later).kind).toBe('promote')
  })
})

describe('the tiers that move last', () => {
  const last = constantsOf('S4')
  const day = began + 24 * 3_600_000
  const withVip = (bad: number, tier: string) =>
    decide(
      {
        ...healthyEvidence({ coverage: {}, heard: { a: day, b: day } }),
        ...viewOf('S4'),
        cells: [cell('S4', arm(30_000), arm(600)), { ...cell('S4', arm(2_000, { bad }), arm(200)), tier }],
      },
      last,
      day,
    )
  it('are taken back for half as much as others', () => {
    // 1 % of VIP calls, which is no more than 0.06 % of all.
    expect(withVip(20, 'vip')).toMatchObject({
      kind: 'rollback',
      fuse: 'F4',
      reason: 'F4: 20 bad calls of VIP of 2000',
    })
    expect(withVip(2, 'vip').kind).not.toBe('rollback')
  })
  it('are those that nobody named, and not callers without a tier', () => {
    expect(withVip(20, 'platinum').fuse).toBe('F4')
    expect(withVip(20, '').fuse).toBeUndefined()
    expect(withVip(20, 'pro').fuse).toBeUndefined()
  })
  it('have 300 comparisons in shadow of which none differs, where they call so often', () => {
    const shadow = constantsOf('shadow')
    const seen = { units: 9, tenants: 3, strata: { stream: 9_000, vip: 5_000 } }
    const evidence = (compared: number, different: number) => {
      const found = shadowEvidence(29_950, different, { seen })
      const strata = { ...found.shadow.strata, vip: { compared, different } }
      return { ...found, shadow: { ...found.shadow, strata } }
    }
    expect(decide(evidence(299, 0), shadow, later).reason).toBe('open: compared:vip')
    expect(decide(evidence(300, 0), shadow, later).kind).toBe('promote')
    expect(decide(evidence(3_000, 1), shadow, later).reason).toBe('open: differences:vip')
  })
})
