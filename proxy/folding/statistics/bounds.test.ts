import { describe, expect, it } from 'vitest'
import { binomial, createRandom } from '../../../test/support/random.ts'
import { mostShare } from '../../../test/support/sampling.ts'
import { lowerBound, trialsFor, trialsWatched, upperBound } from './bounds.ts'

describe('the trials that it takes to bound a rate', () => {
  it.each([
    [0.005, [598, 947, 1258, 1549]],
    [0.001, [2995, 4742, 6294, 7752]],
    [0.0001, [29_956]],
  ])('at %d are those of the table', (limit, trials) => {
    expect(trials.map((_, bad) => trialsFor(bad, limit))).toEqual(trials)
  })
  it('that are watched are those of the table, twice, four times … as many', () => {
    expect([0, 1, 2, 3].map((bad) => trialsWatched(bad, 0.001))).toEqual([2995, 5990, 11_980, 11_980])
  })
})

describe('bounds', () => {
  it('of nothing, of all and of none are trivial', () => {
    expect([upperBound({ n: 0, x: 0 }), upperBound({ n: 3, x: 3 }), lowerBound({ n: 9, x: 0 })]).toEqual([1, 1, 0])
  })
  it('lie on both sides of the rate and move with confidence', () => {
    const trials = { n: 1000, x: 12 }
    expect(lowerBound(trials)).toBeLessThan(0.012)
    expect(upperBound(trials)).toBeGreaterThan(0.012)
    expect(upperBound(trials, 0.01)).toBeGreaterThan(upperBound(trials, 0.05))
  })
  it('are below the true rate in at most 5 % of samples', () => {
    const random = createRandom(41)
    const runs = 2_000
    const below = Array.from({ length: runs }, () => upperBound({ n: 930, x: binomial(random, 930, 0.004) }))
    expect(below.filter((bound) => bound < 0.004).length / runs).toBeLessThan(mostShare(0.05, runs))
  })
})
