import { describe, expect, it } from 'vitest'
import { createRandom, normal } from '../../../test/support/random.ts'
import { mostShare } from '../../../test/support/sampling.ts'
import { exceedanceTests, exceeded, frozenLatency } from './exceedance.ts'
import { defaultRatios } from './relative.ts'
import { ramp, runRelative } from './test-runs.ts'

const spread = 0.7
const times = (seed: number, count: number, slower = 1): number[] => {
  const random = createRandom(seed)
  return Array.from({ length: count }, () => 300 * slower * Math.exp(spread * normal(random)))
}
const shares = (sample: readonly number[], frozen: ReturnType<typeof frozenLatency>): [number, number] => [
  sample.filter((ms) => exceeded(ms, frozen).q95).length / sample.length,
  sample.filter((ms) => exceeded(ms, frozen).q99).length / sample.length,
]

describe('slow calls as events', () => {
  // The quantiles of the control as they truly are: 1.645 and 2.326 deviations above the median.
  const frozen = { q95Ms: 300 * Math.exp(spread * 1.6449), q99Ms: 300 * Math.exp(spread * 2.3263) }
  // How much slower, and the shares over the p95 and the p99, in percent.
  it.each([
    [1, 5, 1],
    [1.2, 8.3, 1.94],
    [1.3, 10.2, 2.55],
    [1.5, 14.3, 4],
    [2, 25.6, 9.1],
  ])('slowed down by %d are %d and %d in a hundred', (slower, q95, q99) => {
    const [over95, over99] = shares(times(62, 200_000, slower), frozen)
    // Three standard errors of a share of 200,000 calls are under 0.3 points at 25 %, under 0.2 at 9 %.
    expect(Math.abs(100 * over95 - q95)).toBeLessThan(0.3)
    expect(Math.abs(100 * over99 - q99)).toBeLessThan(0.2)
  })
  it('make a slowdown by a fifth the very thing that the tests tell apart', () => {
    const [over95, over99] = shares(times(63, 200_000, 1.2), frozen)
    expect(over95).toBeGreaterThanOrEqual(exceedanceTests.q95.p1)
    expect(over99).toBeGreaterThan(exceedanceTests.q99.p1 * 0.95)
  })
  it('do not mind a quantile that was measured badly: both arms exceed it equally often', () => {
    const { q95Ms, q99Ms } = frozen
    const [rate] = shares(times(65, 50_000), { q95Ms: 0.9 * q95Ms, q99Ms })
    expect(rate).toBeGreaterThan(0.06)
    const random = createRandom(66)
    const runs = 500
    const test = { ratios: defaultRatios, tolerated: 1, alpha: 0.01 }
    const alarms = Array.from({ length: runs }, () =>
      runRelative(random, ramp(6_000, { canary: rate!, control: rate! }), test),
    ).filter(({ tripped }) => tripped)
    expect(alarms.length / runs).toBeLessThan(mostShare(0.01, runs))
  })
  it('are found by quantiles of a sample of the control', () => {
    const found = frozenLatency(times(61, 100_000))
    expect(found.q95Ms / frozen.q95Ms).toBeCloseTo(1, 1)
    expect(found.q99Ms / frozen.q99Ms).toBeCloseTo(1, 1)
  })
  it('need a hundred times to freeze a p99', () => {
    expect(() => frozenLatency(times(67, 99))).toThrow('fewer than 100')
  })
})
