import { describe, expect, it } from 'vitest'
import type { Collector } from './collector.ts'
import { began, collecting, endOf, type TestEnd } from './test-calls.ts'

const blownAt = (collector: Collector) =>
  Object.fromEntries(collector.flush('r1').places.map(({ kind, id, blown }) => [`${kind} ${id}`, blown]))
const blownAfter = (calls: readonly TestEnd[]) => {
  const collector = collecting()
  for (const call of calls) collector.onEnd(endOf(call))
  return blownAt(collector)
}
const both = (blown: readonly string[]) => ({ 'gateway a': blown, 'runner gpu-a': blown })
const bad = (unit: number): TestEnd => ({ unit, code: 500 })
const fell = (unit: number): TestEnd => ({ unit, fallback: 'runner-timeout' })

describe('three bad calls in a row', () => {
  it('of two units blow at the replica and at the runner', () => {
    expect(blownAfter([bad(1), bad(1), bad(2)])).toEqual(both(['bad']))
    expect(blownAfter([bad(1), bad(2)])).toEqual(both([]))
  })

  it('of one unit do not: it takes five', () => {
    expect(blownAfter([1, 1, 1, 1].map(bad))).toEqual(both([]))
    expect(blownAfter([1, 1, 1, 1, 1].map(bad))).toEqual(both(['bad']))
  })

  it('are none with a good one between', () => {
    expect(blownAfter([bad(1), bad(2), { unit: 3 }, bad(1)])).toEqual(both([]))
  })

  it('stay a run across refusals, aborts, fallbacks and the control', () => {
    const between: TestEnd[] = [{ code: 401 }, { code: 499 }, { fallback: 'debug_force' }, fell(3), { arm: 'control' }]
    expect(blownAfter([bad(1), bad(2), ...between, bad(1)])).toEqual(both(['bad']))
  })

  it('of the control are none', () => {
    expect(blownAfter([1, 2, 3].map((unit) => ({ ...bad(unit), arm: 'control' })))).toEqual({ 'gateway a': [] })
  })

  it('that began before the step are none', () => {
    expect(blownAfter([1, 2, 3].map((unit) => ({ ...bad(unit), at: began - 1 })))).toEqual({ 'gateway a': [] })
  })

  it('at one runner of two blow there alone', () => {
    const there = (unit: number) => ({ ...bad(unit), attrs: { 'foldgate.runner': 'gpu-b' } })
    const calls = [1, 2, 3].flatMap((unit) => [there(unit), { unit }])
    expect(blownAfter(calls)).toEqual({ 'gateway a': [], 'runner gpu-a': [], 'runner gpu-b': ['bad'] })
  })
})

describe('fallbacks in a row', () => {
  it('blow when the runner caused three', () => {
    expect(blownAfter([1, 2, 3].map(fell))).toEqual(both(['fallback']))
    expect(blownAfter([fell(1), fell(2), { unit: 3 }, fell(4)])).toEqual(both([]))
  })

  it('do not when callers did, however many', () => {
    const noise = Array.from({ length: 50 }, (_, unit): TestEnd => ({ unit, fallback: 'schema-keyword' }))
    expect(blownAfter(noise)).toEqual({ 'gateway a': [] })
  })

  it('of one caller are not enough before the fifth', () => {
    expect(blownAfter([1, 1, 1, 1].map(fell))).toEqual(both([]))
    expect(blownAfter([1, 1, 1, 1, 1].map(fell))).toEqual(both(['fallback']))
  })
})

describe('the local CUSUM', () => {
  it('finds what is bad too often, without a run', () => {
    const calls = Array.from({ length: 300 }, (_, at): TestEnd => (at % 20 === 0 ? bad(at) : { unit: at }))
    expect(blownAfter(calls)).toEqual(both(['cusum']))
  })

  it('lets a rate pass that is fine', () => {
    const calls = Array.from({ length: 3_000 }, (_, at): TestEnd => (at % 1_000 === 0 ? bad(at) : { unit: at }))
    expect(blownAfter(calls)).toEqual(both([]))
  })
})

it('a step that begins, or begins anew, finds all fuses whole and counts from 0', () => {
  const collector = collecting()
  for (const unit of [1, 2, 3]) collector.onEnd(endOf(bad(unit)))
  const told = () => collector.flush('r1').places.map(({ ended, blown }) => [ended, blown])
  collector.begin({ rollout: 'r1', step: 'S1', startedAt: began })
  expect(told()).toEqual([
    [3, ['bad']],
    [3, ['bad']],
  ])
  collector.begin({ rollout: 'r1', step: 'S1', startedAt: began + 1 })
  expect(told()).toEqual([
    [0, []],
    [0, []],
  ])
})

it('more runners than there is room for share one', () => {
  const collector = collecting()
  for (let each = 0; each < 70; each++) collector.onEnd(endOf({ attrs: { 'foldgate.runner': `gpu-${each}` } }))
  const { places } = collector.flush('r1')
  expect(places).toHaveLength(66)
  expect(places.at(-1)).toMatchObject({ kind: 'runner', id: 'other', ended: 6 })
})

describe('two bad calls in a row of tiers that move last', () => {
  const errors = { p0: 0.001, p1: 0.005, alpha: 0.01, beta: 0.1 }
  const strict = { errors, cusum: 7, stuckMs: 30_000, vip: { errors, runs: { length: 2, ofOneUnit: 4 } } }
  const blownFor = (calls: readonly TestEnd[], constants: object = strict) => {
    const collector = collecting()
    collector.begin({ rollout: 'r1', step: 'S4', startedAt: began, constants: constants as typeof strict })
    for (const call of calls) collector.onEnd(endOf({ ...call, attrs: { 'foldgate.step': 'S4', ...call.attrs } }))
    return blownAt(collector)
  }
  const vip = (unit: number, tier = 'vip'): TestEnd => ({ ...bad(unit), attrs: { 'foldgate.tier': tier } })
  it('blow, also with good calls of others between', () => {
    expect(blownFor([vip(1), { unit: 5 }, vip(2)])).toEqual(both(['bad']))
    expect(blownFor([vip(1), { unit: 5, attrs: { 'foldgate.tier': 'vip' } }, vip(2)])).toEqual(both([]))
    expect(blownFor([vip(1), vip(1), vip(1)])).toEqual(both([]))
  })
  it('do not of other tiers, nor in steps without them', () => {
    expect(blownFor([vip(1, 'pro'), vip(2, 'pro')])).toEqual(both([]))
    expect(blownFor([vip(1, ''), vip(2, '')])).toEqual(both([]))
    const { vip: _, ...plain } = strict
    expect(blownFor([vip(1), vip(2)], plain)).toEqual(both([]))
  })
})
