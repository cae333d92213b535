import { describe, expect, it } from 'vitest'
import { percentile } from '../../../test/bench/figures.ts'
import { createRandom } from '../../../test/support/random.ts'
import { meanRange, mostShare, quantileRange } from '../../../test/support/sampling.ts'
import { expectedTrials, mostTrials, passLine, sprtTerms, sprtVerdict, tripLine } from './sprt.ts'
import { runSprt } from './test-runs.ts'

const test = { p0: 0.001, p1: 0.005, alpha: 0.01, beta: 0.1 }

describe('0.1 % against 0.5 %', () => {
  it('has the bounds of Wald', () => {
    const { trip, pass, perBad, perGood } = sprtTerms(test)
    expect([trip, pass, perBad].map((each) => each.toFixed(3))).toEqual(['4.500', '-2.293', '1.609'])
    expect(perGood).toBeCloseTo(-0.004012, 6)
  })
  it('trips on 3 bad within 84 calls, 4 within 487, 5 within 889, 6 within 1,291, and never on 2', () => {
    expect([2, 3, 4, 5, 6].map((bad) => tripLine(bad, test))).toEqual([0, 84, 487, 889, 1291])
    expect(sprtVerdict({ n: 84, x: 3 }, test)).toBe('trip')
    expect(sprtVerdict({ n: 85, x: 3 }, test)).toBe('continue')
  })
  it('passes at 572 calls with none bad, 974 with 1, 1,376 with 2, 1,778 with 3', () => {
    expect([0, 1, 2, 3].map((bad) => passLine(bad, test))).toEqual([572, 974, 1376, 1778])
    expect(sprtVerdict({ n: 571, x: 0 }, test)).toBe('continue')
    expect(sprtVerdict({ n: 572, x: 0 }, test)).toBe('pass')
  })
  it('expects nothing more after three times the calls that a good rate takes', () => {
    expect(mostTrials(test)).toBe(Math.ceil(3 * expectedTrials(test).good))
  })
  it.each([
    [0.05, 59],
    [0.1, 29],
    [0.5, 6],
    [1, 3],
  ])('of a rate of %d lets about %d calls through before it trips', (rate, calls) => {
    const { trip, perBad, perGood } = sprtTerms(test)
    const drift = rate * perBad + (1 - rate) * perGood
    expect(Math.round(trip / drift)).toBe(calls)
    const random = createRandom(5)
    const [low, high] = meanRange(Array.from({ length: 4_000 }, () => runSprt(random, rate, test).calls))
    // What goes beyond the bound, by less than one bad call, is not in the formula.
    expect(high).toBeGreaterThan(trip / drift)
    expect(low).toBeLessThan((trip + perBad) / drift)
  })
})

// p0, p1, E[n|p0], E[n|p1], p95 of the calls at p1 in simulation
const rows = [
  [0.0001, 0.001, 3320, 2723, 7786],
  [0.001, 0.002, 7238, 9878, 23_841],
  [0.001, 0.003, 2463, 2944, 7491],
  [0.001, 0.005, 927, 942, 2597],
  [0.001, 0.01, 330, 272, 810],
  [0.005, 0.01, 1438, 1965, 4703],
  [0.005, 0.02, 272, 298, 792],
  [0.01, 0.02, 713, 976, 2325],
  [0.01, 0.03, 241, 290, 733],
  [0.01, 0.05, 90, 93, 250],
  [0.05, 0.08, 319, 473, 1105],
] as const

describe.each(rows)('%d against %d', (p0, p1, good, bad, p95) => {
  const rates = { ...test, p0, p1 }
  it('takes as many calls as Wald’s equation says', () => {
    const expected = expectedTrials(rates)
    expect(Math.abs(expected.good - good)).toBeLessThan(1)
    expect(Math.abs(expected.bad - bad)).toBeLessThan(1)
  })
  it('errs as seldom as asked for, and 95 % of bad rates are found in time', () => {
    const random = createRandom(Math.round(p0 * 1e6 + p1 * 1e7))
    const runs = 6_000
    const healthy = Array.from({ length: runs }, () => runSprt(random, p0, rates))
    const broken = Array.from({ length: runs }, () => runSprt(random, p1, rates))
    expect(healthy.filter(({ tripped }) => tripped).length / runs).toBeLessThan(mostShare(0.01, runs))
    expect(broken.filter(({ tripped }) => !tripped).length / runs).toBeLessThan(mostShare(0.1, runs))
    const sample = broken.map(({ calls }) => calls)
    const [low, high] = quantileRange(sample, 0.95)
    expect(p95, `p95 was ${percentile(sample, 0.95)}`).toBeGreaterThanOrEqual(low)
    expect(p95, `p95 was ${percentile(sample, 0.95)}`).toBeLessThanOrEqual(high)
  })
})

it('α split over three stages trips on 4 within about 209 calls and takes about 1,190', () => {
  const split = { ...test, alpha: 0.01 / 3 }
  expect(sprtTerms(split).trip).toBeCloseTo(5.6, 2)
  expect(Math.abs(tripLine(4, split) - 209)).toBeLessThanOrEqual(5)
  expect(Math.abs(expectedTrials(split).bad - 1190)).toBeLessThanOrEqual(15)
})
