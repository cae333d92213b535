import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mostShare } from '../support/sampling.ts'
import { disasters, live } from './disasters.ts'
import { createCanary } from './world.ts'
import { movingLayer } from './world-replica.ts'
import { badAt, calm, inCanary, type Traffic } from './world-traffic.ts'

const minute = 60_000
const hour = 60 * minute

describe('hours', () => {
  it('a day of errors that flap around what is allowed: no more rollbacks than are budgeted, none tried again (scenario 1)', async () => {
    const paths: string[] = []
    for (let seed = 1; seed <= 6; seed++) {
      const rate = (at: number): number => (Math.floor(at / (5 * minute)) % 2 === 0 ? 0.0005 : 0.0015)
      const ends: Traffic['ends'] = (call) => badAt(call.arm === 'canary' ? rate(call.at) : 0.001, call)
      const options = { replicas: ['a'], seed, everyMs: 2 * minute, traffic: { ...calm, rate: 3, ends } }
      const world = await createCanary(options)
      await world.run(24 * hour)
      paths.push(world.watch.path.join(' '))
    }
    const back = paths.filter((path) => path.includes('rolled-back'))
    // F4 and F11 in each of three steps, and the CUSUM of a bake.
    expect(back.length).toBeLessThanOrEqual(Math.ceil(6 * mostShare(0.05, 6)))
    for (const path of paths) expect(path).not.toMatch(/rolled-back ./)
  })

  it('six of them, with store losses of five minutes each: shares drain and come back, and only then is anything promoted (scenario 12)', async () => {
    const world = await createCanary({ everyMs: 10_000, traffic: { ...calm, rate: 2 } })
    for (let at = 0; at < 6; at++) {
      await world.run(55 * minute)
      const before = world.watch.path.length
      world.store.down = true
      await world.run(5 * minute)
      expect(world.watch.path).toHaveLength(before)
      for (const { stages } of world.replicas()) {
        const { stage, weights } = stages.of(movingLayer)
        expect(stage === 'native' || Math.max(0, ...Object.values(weights ?? {})) === 0).toBe(true)
      }
      world.store.down = false
    }
    expect(world.watch.path.length).toBeGreaterThan(2)
  })
})

it('a leak that begins after 20,000 good calls in the last step is found within some 2,000 more (scenario 19)', async () => {
  const found: number[] = []
  for (let seed = 1; seed <= 8; seed++) {
    const world = await createCanary({ seed, steps: [100], everyMs: 5_000, traffic: { ...calm, rate: 40 } })
    await world.until(() => world.watch.calls.canary >= 20_000, 2 * hour)
    expect(world.stage()).toBe('canary 100 %')
    const { canary } = world.watch.calls
    world.traffic = { ...world.traffic, ends: inCanary((call) => badAt(0.01, call)) }
    expect(await world.until(() => world.stage() === 'rolled-back', hour)).toBe(true)
    found.push(world.watch.calls.canary - canary)
  }
  expect(found.filter((calls) => calls <= 2_200).length).toBeGreaterThanOrEqual(7)
})

it('I1, I2, I5, I6: dozens of lives of gateways, their store and their clocks', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(disasters, { minLength: 6, maxLength: 30 }), fc.nat(), async (events, seed) => {
      await live(events, seed)
    }),
    { numRuns: 60, seed: 20_261_130 },
  )
})
