import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { shareOf } from '../../plugins/stage.ts'
import { isInShare } from '../../proxy/folding/draw.ts'
import { moreVip, weightsAt } from '../../proxy/folding/stage-plan.ts'
import { weightNow } from '../../proxy/folding/state/drain.ts'
import { disasters, live } from './disasters.ts'

const tiers = ['internal', 'free', 'standard', 'pro', 'vip']

describe('whatever happens to gateways, their store and their clocks', () => {
  it('I1, I2, I5, I6: what was tripped is served nowhere, shares only rise, promotions have their evidence, revisions one writer', async () => {
    const seen = { promoted: 0, tripped: 0, lost: 0 }
    await fc.assert(
      fc.asyncProperty(fc.array(disasters, { minLength: 6, maxLength: 16 }), fc.nat(), async (events, seed) => {
        const { watch, store } = await live(events, seed)
        seen.promoted += watch.replayed
        seen.tripped += Object.keys(store.stored?.tripped ?? {}).length
        seen.lost += events.filter(({ kind }) => kind === 'lose').length
      }),
      { numRuns: 6, seed: 20_240_601 },
    )
    // Each was met, so that nothing holds for want of being tried.
    expect(Math.min(seen.promoted, seen.tripped, seen.lost)).toBeGreaterThan(0)
  }, 120_000)
})

describe('the share of a unit', () => {
  const plan = fc.record({
    steps: fc
      .uniqueArray(fc.integer({ min: 1, max: 98 }), { minLength: 1, maxLength: 4 })
      .map((some) => [...some.toSorted((a, b) => a - b), 100]),
    tiers: fc.subarray(tiers),
  })
  it('I2: never falls from step to step of a rollout, in any tier, and whoever is in it stays', () => {
    fc.assert(
      fc.property(plan, fc.string({ minLength: 1, maxLength: 8 }), fc.nat(9_999), (of, salt, unit) => {
        const steps = of.steps.map((percent) => weightsAt(percent, of))
        for (let more = moreVip(steps.at(-1) ?? {}, of); more; more = moreVip(more, of)) steps.push(more)
        for (const tier of [...of.tiers, '', 'unknown']) {
          const shares = steps.map((weights) => shareOf({ stage: 'canary', weight: 0, weights }, tier))
          expect(shares).toEqual(shares.toSorted((a, b) => a - b))
          const inside = shares.map((share) => isInShare({ layer: 'cache', salt }, `t:${unit}`, share))
          expect(inside).toEqual(inside.toSorted((a, b) => Number(a) - Number(b)))
        }
      }),
      { seed: 2 },
    )
  })
  it('I2: while the store is away units leave in one order, and none comes back', () => {
    fc.assert(
      fc.property(fc.nat(10_000), fc.array(fc.nat(200_000), { minLength: 2 }), fc.nat(9_999), (weight, times, unit) => {
        const inside = times
          .toSorted((a, b) => a - b)
          .map((ms) => isInShare({ layer: 'cache', salt: 's' }, `t:${unit}`, weightNow(weight, ms)))
        expect(inside).toEqual(inside.toSorted((a, b) => Number(b) - Number(a)))
      }),
      { seed: 3 },
    )
  })
})
