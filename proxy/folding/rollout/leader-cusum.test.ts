import { expect, it } from 'vitest'
import { evidenceFrom } from './evidence-merge.ts'
import { createLeaderCusum } from './leader-cusum.ts'
import { arm, cell, constantsOf, flush, viewOf } from './test-evidence.ts'

const constants = constantsOf('S4')
const total = (ended: number, bad: number) =>
  evidenceFrom(viewOf('S4'), [flush({ cells: [cell('S4', arm(ended, { bad }), arm(0))] })])

it('the sum rises with what goes wrong from one second to the next, and remembers its highest', () => {
  const bake = createLeaderCusum()
  expect(bake.peak(total(100_000, 0), constants)).toBe(0)
  const first = bake.peak(total(100_010, 3), constants)
  expect(first).toBeGreaterThan(0)
  expect(bake.peak(total(200_000, 3), constants)).toBe(first)
})

it('a fault that begins after a long good time trips as soon as one that begins at once', () => {
  const [late, early] = [createLeaderCusum(), createLeaderCusum()]
  late.peak(total(1_000_000, 0), constants)
  expect(late.peak(total(1_000_100, 20), constants)).toBeCloseTo(early.peak(total(100, 20), constants), 6)
  expect(late.peak(total(1_000_100, 20), constants)).toBeGreaterThanOrEqual(constants.cusum)
})

it('counts that come back smaller, as when a process has gone, take nothing back and are not heard twice', () => {
  const bake = createLeaderCusum()
  const peak = bake.peak(total(100, 10), constants)
  bake.peak(total(50, 5), constants)
  expect(bake.peak(total(100, 10), constants)).toBe(peak)
})

it('a step that begins anew begins at nothing', () => {
  const bake = createLeaderCusum()
  bake.peak(total(100, 10), constants)
  expect(bake.peak({ ...total(100, 0), startedAt: 1 }, constants)).toBe(0)
})

it('where whole tenants are drawn, a few bad calls of each count', () => {
  const peakOf = (unit: 'tenant' | 'conversation') => {
    const counts = arm(10_000, { bad: 40, badOfMany: 3 })
    const evidence = evidenceFrom(viewOf('S4'), [flush({ cells: [cell('S4', counts, arm(0))] })])
    return createLeaderCusum().peak(evidence, constantsOf('S4', unit))
  }
  expect(peakOf('tenant')).toBeLessThan(constants.cusum)
  expect(peakOf('conversation')).toBeGreaterThan(constants.cusum)
})
