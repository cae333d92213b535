import { expect, it } from 'vitest'
import { isInShare } from './draw.ts'

const units = Array.from({ length: 20_000 }, (_, index) => `t:${index}`)
const share = (percent: number): string[] => units.filter((unit) => isInShare({ layer: 'cache' }, unit, percent * 100))

it.each([0, 1, 10, 50, 100])('%d %% of the units are in a share of that size', (percent) => {
  const expected = (units.length * percent) / 100
  // Six standard deviations of a binomial.
  const spread = 6 * Math.sqrt(units.length * (percent / 100) * (1 - percent / 100))
  expect(Math.abs(share(percent).length - expected)).toBeLessThanOrEqual(spread)
})

it('who was in a smaller share stays in a larger one', () => {
  const larger = new Set(share(10))
  expect(share(1).every((unit) => larger.has(unit))).toBe(true)
})

it('layers are drawn apart', () => {
  const both = share(10).filter((unit) => isInShare({ layer: 'prompt' }, unit, 1_000))
  expect(both.length / share(10).length).toBeLessThan(0.2)
})

it('another rollout has others go first', () => {
  const next = units.filter((unit) => isInShare({ layer: 'cache', salt: 'next' }, unit, 1_000))
  const before = new Set(share(10))
  expect(next.filter((unit) => before.has(unit)).length / next.length).toBeLessThan(0.2)
})
