import { describe, expect, it } from 'vitest'
import { createRandom } from '../../../test/support/random.ts'
import { mostShare } from '../../../test/support/sampling.ts'
import { eventThreshold } from './relative.ts'
import { logMismatchEvidence } from './srm.ts'

const trip = eventThreshold(0.001)

describe('a sample ratio mismatch', () => {
  it.each([0.01, 0.1, 0.5])('is found in at most 1 in 1,000 rollouts that have none, at a share of %d', (share) => {
    const random = createRandom(51)
    const runs = 2_000
    let alarms = 0
    for (let run = 0; run < runs; run++) {
      let canary = 0
      for (let units = 1; units <= 1_500; units++) {
        if (random() < share) canary++
        if (units % 20 > 0) continue
        if (logMismatchEvidence([{ canary, control: units - canary, share }]) >= trip) {
          alarms++
          break
        }
      }
    }
    expect(alarms / runs).toBeLessThan(mostShare(0.001, runs))
  })
  it('shows where two salts draw the same units twice (scenario 22)', () => {
    // Drawn twice at 10 %, a unit is in the canary at 19 %.
    expect(logMismatchEvidence([{ canary: 190, control: 810, share: 0.1 }])).toBeGreaterThan(trip)
    expect(logMismatchEvidence([{ canary: 100, control: 900, share: 0.1 }])).toBeLessThan(0)
  })
  it('shows where half of the canary is not counted', () => {
    expect(logMismatchEvidence([{ canary: 50, control: 900, share: 0.1 }])).toBeGreaterThan(trip)
  })
  it('is certain where a tier that must not move has moved (scenario 22)', () => {
    expect(logMismatchEvidence([{ canary: 1, control: 900, share: 0 }])).toBe(Number.POSITIVE_INFINITY)
    expect(logMismatchEvidence([{ canary: 50, control: 1, share: 1 }])).toBe(Number.POSITIVE_INFINITY)
    expect(logMismatchEvidence([{ canary: 50, control: 0, share: 1 }])).toBe(0)
  })
})
