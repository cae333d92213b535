import { describe, expect, it } from 'vitest'
import { decide } from './decision.ts'
import type { Evidence } from './evidence.ts'
import { type LocalFuse, noSevere, noShadow, type PlaceCounts, type UnitMark } from './evidence-counts.ts'
import { evidenceFrom } from './evidence-merge.ts'
import { constantsDigest } from './stage-constants.ts'
import { arm, began, cell, constantsOf, flush, healthyEvidence, later, marks, viewOf } from './test-evidence.ts'

const constants = constantsOf('S1')
const decided = (more: Partial<Evidence>, given = constants) => decide(healthyEvidence(more), given, later)

const place = (id: string, blown: readonly LocalFuse[] = [], more: Partial<PlaceCounts> = {}): PlaceCounts => ({
  ...{ kind: 'runner', id, ended: 100, blown, waitingMs: [] },
  ...more,
})
const ten = (first: PlaceCounts): PlaceCounts[] =>
  [first, ...'bcdefghij'].map((each) => (typeof each === 'string' ? place(each) : each))
const minute = (ago: number, accounted: number) => ({ minute: later - ago * 60_000, assigned: 100, accounted })
const bothBad = [
  cell('S1', arm(100, { bad: 5 }), arm(900, { bad: 45 })),
  cell('S1', arm(900), arm(8_100), began + 300_000),
]
const marked = (events: UnitMark['events']) =>
  evidenceFrom(viewOf('S1'), [
    flush({ units: marks('S1', 60).map((mark) => (mark.arm === 'canary' ? { ...mark, events } : mark)) }),
  ]).units

describe('what takes a layer back at once', () => {
  it.each<[string, string, Partial<Evidence>]>([
    ['F1', 'one call let through that the gateway refuses', { severe: { ...noSevere, falseAllow: 1 } }],
    ['F1', 'one cache key of another tenant', { severe: { ...noSevere, crossTenant: 1 } }],
    ['F2', 'two calls billed wrongly', { severe: { ...noSevere, billing: 2 } }],
    [
      'F3',
      'bad calls in a row at two of ten runners',
      { places: [...ten(place('a', ['bad'])).slice(0, 9), place('j', ['bad'])] },
    ],
    ['F3', 'bad calls in a row at the only runner', { places: [place('a', ['bad'])] }],
    [
      'F3',
      'bad calls in a row at a runner with a third of the calls',
      { places: ten(place('a', ['bad'], { ended: 450 })) },
    ],
    ['F4', '3 bad of 84 calls', { cells: [cell('S1', arm(84, { bad: 3 }), arm(700, { bad: 1 }))] }],
    ['F4', 'the leader’s CUSUM', { cusumPeak: 7.1 }],
    ['F4', 'the CUSUM of the only gateway', { places: [place('a', ['cusum'], { kind: 'gateway' })] }],
    ['F5', 'fallbacks in a row at the only runner', { places: [place('a', ['fallback'])] }],
    [
      'F5',
      'a rate of fallbacks of 3 %',
      { cells: [cell('S1', arm(600, { fallbacks: { 'runner-timeout': 18 } }), arm(5_000))] },
    ],
    [
      'F6',
      'three calls without a first byte for more than 30 s at the only runner',
      { places: [place('a', [], { waitingMs: [40e3, 35e3, 30_001] })] },
    ],
    ['F7', 'calls that are unaccounted for two minutes long', { minutes: [minute(1, 94), minute(2, 94)] }],
    [
      'F9',
      'one acknowledgement of an unknown version',
      { cells: [cell('S1', arm(2_000), arm(9_000, { unknownVersions: 1 }))] },
    ],
    ['F9', 'mismatches at a rate of 0.1 %', { cells: [cell('S1', arm(2_000, { mismatches: 3 }), arm(500))] }],
    [
      'F11',
      'bad calls in the canary and hardly any beside it',
      { cells: [cell('S1', arm(1_300, { bad: 6 }), arm(100_000, { bad: 60 }))] },
    ],
    [
      'F11',
      'twice as many slow calls',
      { cells: [cell('S1', arm(2_000, { overQ95: 200, overQ99: 40 }), arm(18_000))] },
    ],
    ['F11', 'answers that differ', { shadow: { ...noShadow, worse: 30, better: 2, ties: 968 } }],
    ['F11', 'refusals that only the canary makes', { units: marked(['refused']) }],
    ['F11', 'callers that go away in the canary only', { units: marked(['aborted']) }],
    ['F12', 'an operator', { operator: { verb: 'rollback', actor: 'ann', reason: 'a ticket' } }],
  ])('%s: %s', (fuse, _, more) => {
    expect(decided(more)).toMatchObject({ kind: 'rollback', fuse, reason: expect.stringContaining(fuse) })
  })
  it('also when it is held, or the evidence is blind (scenario 24)', () => {
    const more = { heard: {}, incident: true, operator: { verb: 'hold', actor: 'ann', reason: 'wait' } } as const
    expect(decided({ ...more, severe: { ...noSevere, falseAllow: 1 } }).fuse).toBe('F1')
    expect(decided({ ...more, places: [place('a', ['bad'])] }).fuse).toBe('F3')
  })
  it('with constants that were changed only by what needs none', () => {
    const changed = { constantsDigest: 'other' }
    expect(decided({ ...changed, cells: [cell('S1', arm(84, { bad: 3 }), arm(700))] }).kind).toBe('hold')
    expect(decided({ ...changed, severe: { ...noSevere, billing: 2 } }).fuse).toBe('F2')
    expect(decided({ ...changed, places: [place('a', ['bad'])] }).fuse).toBe('F3')
  })
})

describe('what does not', () => {
  it.each<[string, Partial<Evidence>]>([
    ['one call billed wrongly', { severe: { ...noSevere, billing: 1 } }],
    ['two calls without a first byte', { places: [place('a', [], { waitingMs: [40e3, 35e3, 30e3] })] }],
    ['a minute of which all but 5 % is accounted for', { minutes: [minute(1, 95), minute(2, 10)] }],
    ['a minute that is not over', { minutes: [minute(0, 0)] }],
  ])('%s', (_, more) => {
    expect(decided(more).kind).toBe('promote')
  })
  it('one of ten runners that is bad: it is taken out, and the layer goes on', () => {
    const { kind, eject } = decided({ places: ten(place('a', ['bad'])) })
    expect([kind, eject]).toEqual(['promote', ['runner a']])
  })
  it('3 bad of 85 calls', () => {
    expect(decided({ cells: [cell('S1', arm(85, { bad: 3 }), arm(700, { bad: 2 }))] }).kind).toBe('continue')
  })
})

describe('what holds', () => {
  it.each<[string, string, Partial<Evidence>]>([
    ['F7', 'one minute of which 6 % are unaccounted for', { minutes: [minute(1, 94)] }],
    [
      'F8',
      'twice as many units as should be',
      { shares: { free: 0.045 }, units: evidenceFrom(viewOf('S1'), [flush({ units: marks('S1', 200) })]).units },
    ],
    ['F8', 'a tier that must not move', { shares: {} }],
    ['F10', 'both arms bad in the same window', { cells: bothBad }],
  ])('%s: %s', (fuse, _, more) => {
    expect(decided(more)).toMatchObject({ kind: 'hold', fuse })
  })
  it('both arms bad takes the blame off calls in a row, off the rate and off stuck calls', () => {
    const places = [place('a', ['bad'], { waitingMs: [40e3, 40e3, 40e3] })]
    expect(decided({ cells: bothBad, places })).toMatchObject({ kind: 'hold', fuse: 'F10' })
  })
  it('no longer once the step has begun anew, while the comparison remembers', () => {
    const startedAt = began + 1
    const cells = [...bothBad, cell('S1', arm(2_000), arm(18_000), later)]
    const before = decided({ cells: bothBad }).gates.find(({ name }) => name === 'errors-relative')?.value
    const after = decide(healthyEvidence({ cells, startedAt }), constants, later)
    expect(after.kind).toBe('promote')
    expect(after.gates.find(({ name }) => name === 'errors-relative')?.value).toBeCloseTo(before!, 10)
  })
  it('but not off fallbacks, which only the runner can cause', () => {
    expect(decided({ cells: bothBad, places: [place('a', ['fallback'])] })).toMatchObject({
      kind: 'rollback',
      fuse: 'F5',
    })
  })
  it('nor off a canary that is far worse than a bad control', () => {
    const cells = [cell('S1', arm(100, { bad: 60 }), arm(900, { bad: 45 }))]
    expect(decided({ cells }).kind).toBe('rollback')
  })
})

describe('where units are tenants', () => {
  const byTenant = constantsOf('S1', 'tenant')
  const view = viewOf('S1', byTenant)
  it('one tenant’s many bad calls are no evidence against the control', () => {
    const cells = [cell('S1', arm(100_000, { bad: 60 }), arm(900_000, { bad: 100 }))]
    const units = evidenceFrom(view, [
      flush({
        units: marks('S1', 60).map((mark, index) => (index === 0 ? { ...mark, events: ['bad'] as const } : mark)),
      }),
    ]).units
    const { gates } = decide(healthyEvidence({ ...view, cells, units }), byTenant, later)
    expect(gates.find(({ name }) => name === 'errors-relative')?.value).toBeLessThan(2)
    expect(decided({ cells }).fuse).toBe('F11')
  })
  it('many tenants’ first bad calls are', () => {
    const units = evidenceFrom(view, [
      flush({
        units: marks('S1', 60).map((mark, index) => (index < 8 ? { ...mark, events: ['bad'] as const } : mark)),
      }),
    ]).units
    expect(decide(healthyEvidence({ ...view, units }), byTenant, later).fuse).toBe('F11')
  })
  it('slow calls stand in the way, and take nothing back', () => {
    const cells = [cell('S1', arm(2_000, { overQ95: 200, overQ99: 40 }), arm(18_000))]
    const { kind, gates } = decide(healthyEvidence({ ...view, cells }), byTenant, later)
    expect([kind, gates.find(({ name }) => name === 'latency-relative')?.met]).toEqual(['continue', false])
  })
})

describe('bad calls where whole tenants are drawn', () => {
  const byTenant = constantsOf('S1', 'tenant')
  const counted = { constantsDigest: constantsDigest(byTenant) }
  const found = (ended: number, bad: number, badOfMany: number) =>
    decided({ ...counted, cells: [cell('S1', arm(ended, { bad, badOfMany }), arm(9_000, { bad: 9 }))] }, byTenant)
  it('of a few tenants, whose own rate it may be, hold the layer', () => {
    expect(found(2_000, 12, 3)).toMatchObject({
      ...{ kind: 'hold', fuse: 'F4', reason: 'F4: 12 bad calls, most of them of few tenants, of 2000' },
    })
  })
  it('of many take it back', () => {
    expect(found(2_000, 12, 11)).toMatchObject({ kind: 'rollback', fuse: 'F4' })
  })
  it('that are far too many take it back, whoever makes them', () => {
    expect(found(200, 10, 3)).toMatchObject({ kind: 'rollback', fuse: 'F4', reason: 'F4: 10 bad calls of 200' })
  })
  it('of a few tenants take a layer back whose calls are drawn one by one', () => {
    const one = cell('S1', arm(2_000, { bad: 12, badOfMany: 3 }), arm(9_000, { bad: 9 }))
    expect(decided({ cells: [one] })).toMatchObject({ kind: 'rollback', fuse: 'F4' })
  })
})
