import { describe, expect, it } from 'vitest'
import { percentile } from '../../../test/bench/figures.ts'
import { createRandom, gap, type Random } from '../../../test/support/random.ts'
import { meanRange, quantileRange } from '../../../test/support/sampling.ts'
import { createCusum } from './cusum.ts'
import { cusumRunLength, cusumThreshold } from './cusum-run-length.ts'
import { logLikelihoodRatio, sprtTerms } from './sprt.ts'

const rates = { p0: 0.001, p1: 0.005 }

function callsToTrip(random: Random, rate: number, threshold: number): number {
  const cusum = createCusum(rates, threshold)
  let calls = 0
  while (!cusum.tripped) {
    const next = gap(random, rate)
    cusum.add(next - 1, 1)
    calls += next
  }
  return calls
}

describe('run lengths', () => {
  // p0, p1, threshold, calls between false alarms, delay
  it.each([
    [0.001, 0.005, 6, 299e3, 1360],
    [0.001, 0.005, 7, 804e3, 1634],
    [0.001, 0.005, 8, 2.0e6, 1837],
    [0.001, 0.005, 9, 6.1e6, 2075],
    [0.005, 0.02, 7, 232e3, 517],
    [0.005, 0.02, 8, 557e3, 585],
    [0.01, 0.03, 7, 175e3, 490],
    [0.01, 0.03, 8, 417e3, 552],
  ])('of %d against %d at %d are as published', (p0, p1, threshold, healthy, delay) => {
    // Published figures are means of simulations of run lengths that spread as far as their mean: 10 % is three errors of 900 runs.
    expect(cusumRunLength(p0, { p0, p1 }, threshold) / healthy).toBeCloseTo(1, 0.7)
    expect(cusumRunLength(p1, { p0, p1 }, threshold) / delay).toBeCloseTo(1, 0.7)
  })
  it.each([
    [0.005, 7],
    [0.001, 3],
    [0.003, 5],
  ])('at a rate of %d and a threshold of %d are those of the real thing', (rate, threshold) => {
    const random = createRandom(21)
    const [low, high] = meanRange(Array.from({ length: 4_000 }, () => callsToTrip(random, rate, threshold)))
    const solved = cusumRunLength(rate, rates, threshold)
    // Half a percent for the lattice, which rounds what a bad call adds to whole good calls.
    expect(solved).toBeGreaterThan(low * 0.995)
    expect(solved).toBeLessThan(high * 1.005)
  })
  it('a longer bake asks for a higher threshold', () => {
    expect(cusumThreshold(rates, 10_000)).toBe(7)
    const long = cusumThreshold(rates, 1_000_000)
    expect(cusumRunLength(0.001, rates, long)).toBeGreaterThanOrEqual(20e6)
    expect(cusumRunLength(0.001, rates, long - 0.5)).toBeLessThan(20e6)
    expect(cusumThreshold(rates, 1e15)).toBe(20)
  })
})

// healthy calls before, median delay of the CUSUM, median delay of Wald's test that is never reset
it.each([
  [5_000, 1281, 3841],
  [20_000, 1290, 12_628],
  [100_000, 1372, 59_855],
])(
  'a fault after %d healthy calls is found after %d more, by a test that is never reset after %d',
  (healthy, delay, never) => {
    const random = createRandom(healthy)
    const test = { ...rates, alpha: 0.01, beta: 0.1 }
    const [found, late]: [number[], number[]] = [[], []]
    while (found.length < 1_200) {
      const cusum = createCusum(rates, 7)
      let [n, x] = [0, 0]
      for (;;) {
        const next = gap(random, n < healthy ? 0.001 : 0.005)
        // What lies beyond the onset has to be drawn again at the other rate.
        const good = n < healthy ? Math.min(next - 1, healthy - n) : next - 1
        const bad = n < healthy && next - 1 >= healthy - n ? 0 : 1
        const before = cusum.tripped
        cusum.add(good, bad)
        n += good + bad
        x += bad
        if (n <= healthy && cusum.tripped) break
        if (!before && cusum.tripped) found.push(n - healthy)
        if (n > healthy && cusum.tripped && logLikelihoodRatio({ n, x }, test) >= sprtTerms(test).trip) {
          late.push(n - healthy)
          break
        }
      }
    }
    for (const [sample, published] of [
      [found, delay],
      [late, never],
    ] as const) {
      const [low, high] = quantileRange(sample, 0.5)
      expect(published, `the median was ${percentile(sample, 0.5)}`).toBeGreaterThanOrEqual(low)
      expect(published, `the median was ${percentile(sample, 0.5)}`).toBeLessThanOrEqual(high)
    }
  },
)

it('stays tripped, whatever is good afterwards', () => {
  const cusum = createCusum(rates, 4)
  cusum.add(0, 3)
  cusum.add(1e6, 0)
  expect([cusum.value, cusum.tripped]).toEqual([0, true])
})
