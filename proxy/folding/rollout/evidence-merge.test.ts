import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson } from '../../../plugins/canonical.ts'
import { decide } from './decision.ts'
import { isFaithful, recordedDecision } from './decision-record.ts'
import type { Flush } from './evidence.ts'
import { type ArmCounts, type Cell, type UnitMark, unitEvents } from './evidence-counts.ts'
import { evidenceFrom } from './evidence-merge.ts'
import { arm, began, cell, constantsOf, flush, healthyFlushes, later, marks, viewOf } from './test-evidence.ts'

const constants = constantsOf('S1')
const seed = 20_261
const count = (max: number) => fc.nat({ max })

const counts: fc.Arbitrary<ArmCounts> = fc
  .record({ ended: count(4_000), bad: count(6), lost: count(40), slow: count(300), wrong: count(40), failed: count(2) })
  .map(({ ended, bad, lost, slow, wrong, failed }) =>
    arm(ended, {
      assigned: ended + lost,
      bad: Math.min(bad, ended),
      failed,
      overQ95: Math.min(slow, ended),
      fallbacks: { 'runner-error': Math.min(wrong, ended) },
    }),
  )
const cells: fc.Arbitrary<Cell[]> = fc.array(
  fc
    .record({ canary: counts, control: counts, window: count(5), tier: fc.constantFrom('free', 'pro') })
    .map(({ canary, control, window, tier }) => ({
      ...cell('S1', canary, control, began + window * 300_000),
      tier,
    })),
  { maxLength: 6 },
)
const mark: fc.Arbitrary<UnitMark> = fc.record({
  step: fc.constantFrom('shadow', 'S1'),
  tier: fc.constantFrom('free', 'pro'),
  arm: fc.constantFrom('canary', 'control'),
  unit: fc.constantFrom('u1', 'u2', 'u3', 'u4', 'u5'),
  tenant: fc.constantFrom('t1', 't2', 't3'),
  events: fc.subarray([...unitEvents]),
})
const flushes: fc.Arbitrary<Flush[]> = fc.array(
  fc
    .record({
      replica: fc.constantFrom('a', 'b', 'c'),
      boot: fc.constantFrom('1', '2'),
      seq: count(4),
      cells,
      units: fc.array(mark, { maxLength: 12 }),
      inFlight: count(3),
      blown: fc.subarray(['bad', 'fallback', 'cusum'] as const),
      coverage: fc.record({ stream: count(900), 'non-stream': count(90) }),
    })
    // One flush of a process is one state of it: its time and what it waits for follow from its number.
    .map(({ blown, ...rest }) =>
      flush({
        ...rest,
        at: later - 10_000 + rest.seq,
        places: [{ kind: 'runner', id: `r${rest.replica}`, ended: 10 * rest.seq, blown, waitingMs: [rest.seq] }],
      }),
    ),
  { minLength: 1, maxLength: 10 },
)
const distinct = (all: readonly Flush[]): Flush[] => [
  ...new Map(all.map((each) => [`${each.replica} ${each.boot} ${each.seq}`, each])).values(),
]
const decidedFrom = (all: readonly Flush[]) => decide(evidenceFrom(viewOf('S1'), all), constants, later)

describe('flushes', () => {
  it('in any order, as often as you like, give the same evidence and the same decision (scenario 14) (I7)', () => {
    const cases = flushes.chain((all) => {
      const base = distinct(all)
      return fc.record({
        base: fc.constant(base),
        again: fc
          .shuffledSubarray(base, { minLength: base.length })
          .chain((shuffled) => fc.subarray(base).map((more) => [...shuffled, ...more])),
      })
    })
    fc.assert(
      fc.property(cases, ({ base, again }) => {
        expect(canonicalJson(evidenceFrom(viewOf('S1'), again))).toBe(canonicalJson(evidenceFrom(viewOf('S1'), base)))
        expect(canonicalJson(decidedFrom(again))).toBe(canonicalJson(decidedFrom(base)))
      }),
      { seed, numRuns: 200 },
    )
  })
  it('that came late, and are older than what is known, change nothing', () => {
    const [first, second] = healthyFlushes() as [Flush, Flush]
    const old = flush({ replica: first.replica, seq: 0, cells: [cell('S1', arm(3, { bad: 3 }), arm(0))] })
    expect(decidedFrom([first, second, old])).toEqual(decidedFrom([first, second]))
  })
  it('of a process that has started anew add to those of before', () => {
    const [first, second] = healthyFlushes() as [Flush, Flush]
    const anew = { ...first, boot: '2', seq: 0, at: later + 1, inFlight: 4 }
    const { cells: merged, inFlight } = evidenceFrom(viewOf('S1'), [{ ...first, inFlight: 7 }, second, anew])
    expect(merged[0]?.canary.ended).toBe(4_500)
    // Those in flight in the process that ended went with it.
    expect(inFlight).toBe(4)
  })
  it('from several replicas count a unit once, and a tenant’s first bad call once in the whole rollout', () => {
    const bad = (step: UnitMark['step'], tenant: string, armName: UnitMark['arm']): UnitMark => ({
      ...{ step, tier: 'free', arm: armName, unit: tenant, tenant, events: ['bad'] },
    })
    const earlier = [bad('S1', 't1', 'canary'), bad('S1', 't2', 'control')]
    const now = [bad('S2', 't1', 'canary'), bad('S2', 't3', 'canary'), bad('S2', 't2', 'canary')]
    const { units } = evidenceFrom(viewOf('S2'), [
      flush({ units: [...earlier, ...now] }),
      flush({ replica: 'b', units: [...now, ...earlier] }),
    ])
    expect(
      units.map(({ step, canary, control }) => [step, canary.units, canary.firsts.bad, control.firsts.bad]),
    ).toEqual([
      ['S1', 1, { atRisk: 1, first: 1 }, { atRisk: 1, first: 1 }],
      ['S2', 3, { atRisk: 1, first: 1 }, { atRisk: 0, first: 0 }],
    ])
  })
  it('say the same of a runner from wherever it was heard', () => {
    const at = (replica: string, blown: 'bad' | 'fallback') =>
      flush({ replica, places: [{ kind: 'runner', id: 'r1', ended: 10, blown: [blown], waitingMs: [5, 9] }] })
    expect(evidenceFrom(viewOf('S1'), [at('a', 'fallback'), at('b', 'bad')]).places).toEqual([
      { kind: 'runner', id: 'r1', ended: 20, blown: ['bad', 'fallback'], waitingMs: [9, 9, 5, 5] },
    ])
  })
})

describe('decisions', () => {
  // Half of the cases begin from a rollout that may be promoted, so that promotions are among them.
  const cases = fc.oneof(
    flushes.map(distinct),
    fc
      .record({ bad: count(3), lost: count(40), units: count(60), slow: count(60) })
      .map(({ bad, lost, units, slow }) => {
        const [first, second] = healthyFlushes() as [Flush, Flush]
        const canary = arm(1_500, { bad, assigned: 1_500 + lost, overQ95: 60 + slow })
        return [
          { ...first, cells: [cell('S1', canary, arm(13_500, { bad: 9 }))], units: marks('S1', units) },
          { ...second, units: [] },
        ]
      }),
  )
  it('promote only if every gate is met, also when they are made again from the record (I5)', () => {
    const kinds = new Set<string>()
    fc.assert(
      fc.property(cases, (all) => {
        const record = JSON.parse(JSON.stringify(recordedDecision(evidenceFrom(viewOf('S1'), all), constants, later)))
        kinds.add(record.decision.kind)
        expect(isFaithful(record)).toBe(true)
        const { kind, gates, fuse } = record.decision
        if (kind === 'promote')
          expect([gates.filter((gate: { met: boolean }) => !gate.met), fuse]).toEqual([[], undefined])
        if (kind === 'continue') expect(gates.some((gate: { met: boolean }) => !gate.met)).toBe(true)
      }),
      { seed, numRuns: 300 },
    )
    expect([...kinds].sort()).toEqual(['continue', 'hold', 'promote', 'rollback'])
  })
  it('about a rollout that has tripped are always to take it back', () => {
    fc.assert(
      fc.property(cases, (all) => {
        const view = { ...viewOf('S1'), tripped: { fuse: 'F4', reason: '3 of 84', at: began } as const }
        expect(decide(evidenceFrom(view, all), constants, later)).toMatchObject({ kind: 'rollback', fuse: 'F4' })
      }),
      { seed, numRuns: 100 },
    )
  })
  it('never get better by one more bad call of the canary', () => {
    const rank = { rollback: 0, hold: 1, continue: 1, promote: 2 }
    fc.assert(
      fc.property(fc.record({ ended: fc.integer({ min: 900, max: 3_000 }), bad: count(8) }), ({ ended, bad }) => {
        const kindAt = (more: number) => {
          const all = healthyFlushes().map((each) => ({
            ...each,
            cells: [cell('S1', arm(ended, { bad: bad + more }), arm(9 * ended, { bad: 9 }))],
          }))
          return rank[decidedFrom(all).kind]
        }
        expect(kindAt(1)).toBeLessThanOrEqual(kindAt(0))
      }),
      { seed, numRuns: 100 },
    )
  })
})
