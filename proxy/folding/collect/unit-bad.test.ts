import { expect, test } from 'vitest'
import { createCollector } from './collector.ts'
import { most } from './overflow.ts'
import { began, endOf } from './test-calls.ts'
import { createUnitBad } from './unit-bad.ts'

const errors = { p0: 0.001, p1: 0.005, alpha: 0.01, beta: 0.1 }

test('of each unit three bad calls count in a step, and three more in the next', () => {
  const bad = createUnitBad()
  const times = (unit: string, arm: 'canary' | 'control' = 'canary') =>
    [1, 2, 3, 4, 5].map(() => bad.counts(arm, unit)).filter(Boolean).length
  bad.begin({ step: 'S1', startedAt: 1 })
  expect([times('a'), times('b'), times('a'), times('a', 'control')]).toEqual([3, 3, 0, 3])
  bad.begin({ step: 'S1', startedAt: 1 })
  expect(times('a')).toBe(0)
  bad.begin({ step: 'S2', startedAt: 2 })
  expect(times('a')).toBe(3)
})

test('of more units than there is room for all bad calls count', () => {
  const bad = createUnitBad()
  for (let unit = 0; unit < most.marks; unit++) bad.counts('canary', String(unit))
  for (let time = 0; time < 9; time++) expect(bad.counts('canary', 'one more')).toBe(true)
})

test('the collector counts them apart, and where tenants are drawn the CUSUM of a place hears of no more', () => {
  const blownBy = (counting: 'tenant' | 'call') => {
    let now = began
    const collector = createCollector({
      clock: { now: () => now },
      replica: 'a',
      boot: '1',
      later: () => () => undefined,
    })
    const constants = { errors, cusum: 7, stuckMs: 30_000, counting }
    collector.begin({ rollout: 'r1', step: 'S1', startedAt: began, constants })
    for (let call = 0; call < 8; call++) {
      // Each in another minute, and with a good one between, so that none repeats another and there is no run.
      now += 61_000
      collector.onEnd(endOf({ unit: 1, code: 500, at: now }))
      collector.onEnd(endOf({ unit: 2, at: now }))
    }
    const { cells, places } = collector.flush('r1')
    const sum = (name: 'bad' | 'badOfMany') => cells.reduce((all, { canary }) => all + canary[name], 0)
    return [sum('bad'), sum('badOfMany'), places[0]?.blown]
  }
  expect(blownBy('tenant')).toEqual([8, 3, []])
  expect(blownBy('call')).toEqual([8, 3, ['cusum']])
})
