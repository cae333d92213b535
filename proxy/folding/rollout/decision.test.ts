import { describe, expect, it } from 'vitest'
import { decide } from './decision.ts'
import { isFaithful, recordedDecision } from './decision-record.ts'
import type { Evidence } from './evidence.ts'
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
    ['other constants than those that were frozen', { constantsDigest: 'other' }, later],
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
    expect([early.kind, early.reason]).toEqual(['continue', 'open: differences'])
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
  expect(decide(evidence(29_955), last, day).reason).toBe('open: failures')
  expect(decide(evidence(40_000, 1), last, day).reason).toBe('open: failures')
  expect(decide(evidence(29_956), last, day - 1).reason).toBe('open: dwell')
})

it('a record decides over again as it did', () => {
  const record = recordedDecision(healthyEvidence(), constants, later)
  const read = JSON.parse(JSON.stringify(record))
  expect(isFaithful(read)).toBe(true)
  expect(isFaithful({ ...read, decision: { ...read.decision, kind: 'rollback' } })).toBe(false)
  expect(isFaithful({ ...read, evidence: { ...read.evidence, cells: [] } })).toBe(false)
})
