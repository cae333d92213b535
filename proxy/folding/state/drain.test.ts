import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { weightNow } from './drain.ts'

describe('a share while nobody answers', () => {
  test('stays for a minute, then goes to nothing over the next (scenario 12)', () => {
    expect([0, 59_999, 60_000, 75_000, 90_000, 119_999, 120_000, 1e9].map((ms) => weightNow(5_000, ms))).toEqual([
      5_000, 5_000, 5_000, 3_750, 2_500, 0, 0, 0,
    ])
  })

  test('is a whole number that never rises with time, and never goes beyond what it was', () => {
    const ms = fc.integer({ min: 0, max: 200_000 })
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10_000 }), ms, ms, (weight, some, more) => {
        const [early, late] = [weightNow(weight, Math.min(some, more)), weightNow(weight, Math.max(some, more))]
        expect(Number.isInteger(late)).toBe(true)
        expect(late).toBeLessThanOrEqual(early)
        expect(early).toBeLessThanOrEqual(weight)
        expect(late).toBeGreaterThanOrEqual(0)
      }),
    )
  })
})
