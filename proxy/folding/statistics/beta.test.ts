import stdlibQuantile from '@stdlib/stats-base-dists-beta-quantile'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { betaAbove, betaBelow, betaQuantile } from './beta.ts'

const seed = 817

/** By how much of `right` the two differ. */
const off = (got: number, right: number): number => (got === right ? 0 : Math.abs(got - right) / Math.abs(right))

/** Numbers between two powers of ten, as many of each size. */
const sized = (from: number, to: number) =>
  fc.double({ min: from, max: to, noNaN: true }).map((exponent) => 10 ** exponent)
const sizes = sized(Math.log10(0.5), 6)
const tails = sized(-20, Math.log10(0.5))
/** Chances, as often near 1 as near 0. */
const chances = fc.tuple(sized(-12, Math.log10(0.5)), fc.boolean()).map(([p, mirror]) => (mirror ? 1 - p : p))

describe('the beta quantile', () => {
  // Newton's method on the continued fraction, both in 60 decimal digits (mpmath 1.3).
  it.each([
    [1e-300, 3.7, 10, 1.537829643318832e-82],
    [1e-300, 1e4, 10, 0.9289424697115743],
    [1e-300, 1e6, 10, 0.9992628608263555],
    [1e-100, 0.5, 1e6, 7.853983597470138e-207],
    [1e-20, 1e6, 1e6, 0.496725302964574],
    [1e-6, 1e6, 0.5, 0.9999880360050897],
    [0.5, 0.5, 10, 0.023051418325296148],
    [0.95, 0.5, 1e6, 1.920728045928923e-6],
    [0.95, 1e6, 1e6, 0.5005815434528573],
    [1 - 1e-6, 1.5, 2, 0.9992696143285178],
    [1 - 1e-15, 100.5, 1e4, 0.019889299491461395],
  ])('at %d of shape %d, %d is that of sixty digits', (p, a, b, right) => {
    expect(off(betaQuantile(p, { a, b }), right)).toBeLessThan(1e-12)
  })

  it('is that of another implementation, at every shape from 0.5 to a million', () => {
    const same = fc.property(chances, sizes, sizes, (p, a, b) => {
      expect(off(betaQuantile(p, { a, b }), stdlibQuantile(p, a, b))).toBeLessThan(1e-10)
    })
    fc.assert(same, { seed, numRuns: 2_000 })
  })

  it('is a root where one shape is 1', () => {
    const roots = fc.property(tails, sizes, (p, size) => {
      expect(off(betaQuantile(p, { a: size, b: 1 }), p ** (1 / size))).toBeLessThan(1e-12)
      expect(off(betaQuantile(p, { a: 1, b: size }), -Math.expm1(Math.log1p(-p) / size))).toBeLessThan(1e-12)
    })
    fc.assert(roots, { seed, numRuns: 1_000 })
  })

  it('is a sine where both shapes are ½', () => {
    const sines = fc.property(chances, (p) => {
      expect(off(betaQuantile(p, { a: 0.5, b: 0.5 }), Math.sin((Math.PI * p) / 2) ** 2)).toBeLessThan(1e-12)
    })
    fc.assert(sines, { seed, numRuns: 1_000 })
  })

  it('has its middle at ½ where the shapes are equal, and turns round with them', () => {
    const turned = fc.property(sizes, sizes, fc.double({ min: 0.01, max: 0.5, noNaN: true }), (a, b, p) => {
      expect(betaQuantile(0.5, { a, b: a })).toBeCloseTo(0.5, 13)
      expect(betaQuantile(p, { a, b }) + betaQuantile(1 - p, { a: b, b: a })).toBeCloseTo(1, 12)
    })
    fc.assert(turned, { seed, numRuns: 1_000 })
  })

  it('is the inverse of the chance below, in tails of 1e-20 too', () => {
    const back = fc.property(tails, sizes, sizes, (p, a, b) => {
      const low = betaQuantile(p, { a, b })
      // Nearer to 1 the next number is already another chance.
      fc.pre(low < 0.9)
      expect(off(betaBelow(low, { a, b }), p)).toBeLessThan(1e-10)
    })
    fc.assert(back, { seed, numRuns: 2_000 })
  })

  it('reaches the ends, and as near to 0 as numbers do', () => {
    const shape = { a: 0.5, b: 3 }
    expect([betaQuantile(0, shape), betaQuantile(1, shape), betaQuantile(1e-300, shape)]).toEqual([0, 1, 0])
    expect([betaBelow(0, shape), betaBelow(1, shape), betaAbove(0, shape), betaAbove(1, shape)]).toEqual([0, 1, 1, 0])
    expect(off(betaQuantile(1e-150, { a: 0.5, b: 1 }), 1e-300)).toBeLessThan(1e-12)
    expect(off(betaQuantile(1e-50, { a: 1 / 6, b: 1 }), 1e-300)).toBeLessThan(1e-12)
  })
})

describe('the chances of a beta variable', () => {
  it('are a binomial sum for whole shapes', () => {
    // C(10, k)·0.1^k·0.9^(10−k) for k = 0, 1, 2.
    const atMostTwo = 0.9 ** 10 + 10 * 0.1 * 0.9 ** 9 + 45 * 0.01 * 0.9 ** 8
    expect(off(betaAbove(0.1, { a: 3, b: 8 }), atMostTwo)).toBeLessThan(1e-14)
    expect(off(betaBelow(0.1, { a: 3, b: 8 }), 1 - atMostTwo)).toBeLessThan(1e-13)
  })

  it('are powers where one shape is 1, however small', () => {
    const powers = fc.property(sizes, sized(-2, Math.log10(690)), (size, log) => {
      const x = -Math.expm1(-log / size)
      fc.pre(x < 0.9)
      expect(off(betaAbove(x, { a: 1, b: size }), Math.exp(-log))).toBeLessThan(1e-10)
      const y = Math.exp(-log / size)
      fc.pre(y < 0.9)
      expect(off(betaBelow(y, { a: size, b: 1 }), y ** size)).toBeLessThan(1e-10)
    })
    fc.assert(powers, { seed, numRuns: 1_000 })
  })

  it('are numbers where a shape is next to nothing', () => {
    expect(betaBelow(0.999984366081608, { a: 17.462717916271174, b: 2.3478792277438973e-16 })).toBeCloseTo(0, 12)
  })

  it('are 1 together', () => {
    const both = fc.property(chances, sizes, sizes, (x, a, b) => {
      expect(betaBelow(x, { a, b }) + betaAbove(x, { a, b })).toBeCloseTo(1, 12)
    })
    fc.assert(both, { seed, numRuns: 1_000 })
  })

  it.each([
    [Number.NaN, 1, 1],
    [-0.1, 1, 1],
    [1.1, 1, 1],
    [0.5, 0, 1],
    [0.5, 1, -1],
    [0.5, Number.NaN, 1],
    [0.5, 1, Number.POSITIVE_INFINITY],
  ])('are none at %d of shape %d, %d', (x, a, b) => {
    for (const asked of [betaBelow, betaAbove, betaQuantile]) {
      expect(() => asked(x, { a, b })).toThrow(expect.objectContaining({ code: 'internal' }))
    }
  })
})
