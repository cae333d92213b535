import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { emptyDocument } from './document.ts'
import { shareNow, weightNow } from './drain.ts'
import { layerAt } from './test-documents.ts'

describe('a share while nobody answers', () => {
  test('stays for a minute, then goes to nothing over the next', () => {
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

  test('is drained in a canary and not where a layer is native; a tier that is not named has none', () => {
    const layers = { auth: layerAt('canary', 'R1', { weight: 1_000 }), cache: layerAt('native', 'R2') }
    const known = { ...emptyDocument, layers }
    const lost = { known, condition: { lostForMs: 90_000 } }
    expect([shareNow({ known, condition: 'slow' }, 'auth', 'free'), shareNow(lost, 'auth', 'free')]).toEqual([
      1_000, 500,
    ])
    expect([
      shareNow(lost, 'cache', 'vip'),
      shareNow(lost, 'auth', 'toString'),
      shareNow(lost, 'toString', 'vip'),
    ]).toEqual([10_000, 0, 0])
  })
})
