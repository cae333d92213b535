import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createManualClock } from '../test/support/clock.ts'
import { createReplaySet } from './replay-set.ts'

describe('createReplaySet()', () => {
  it('an identity is fresh once, and seen for as long as it is good', () => {
    const clock = createManualClock()
    const set = createReplaySet()
    const until = clock.now() + 40_000
    expect(set.record('a', until, clock.now())).toBe('fresh')
    for (let step = 0; step < 39; step += 1) {
      clock.advance(1_000)
      set.record(`other ${step}`, clock.now() + 40_000, clock.now())
      expect(set.record('a', until, clock.now())).toBe('seen')
    }
  })

  it('without room it says so, and has room again once the older ones have lapsed', () => {
    const clock = createManualClock()
    const set = createReplaySet(3)
    const record = (identity: string) => set.record(identity, clock.now() + 10_000, clock.now())
    expect(['a', 'b', 'c', 'd'].map(record)).toEqual(['fresh', 'fresh', 'fresh', 'full'])
    expect(record('a')).toBe('seen')
    clock.advance(9_999)
    expect(record('d')).toBe('full')
    clock.advance(1)
    expect(record('d')).toBe('fresh')
  })

  it('what was not recorded for want of room is not seen', () => {
    const set = createReplaySet(0)
    expect([set.record('a', 10, 0), set.record('a', 10, 0)]).toEqual(['full', 'full'])
  })

  it('a clock that is put back does not make a forgotten identity fresh', () => {
    const set = createReplaySet()
    expect(set.record('a', 10_000, 0)).toBe('fresh')
    set.record('b', 60_000, 20_000)
    set.record('c', 60_000, 20_001)
    expect(set.record('a', 10_000, 5_000)).toBe('seen')
  })

  it('forgets after a pause, so that an idle instance holds nothing', () => {
    const set = createReplaySet()
    for (let each = 0; each < 1_000; each += 1) set.record(String(each), 10_000, 0)
    set.record('late', 100_000, 90_000)
    expect(set.size).toBe(1)
  })

  it('whatever comes when: nothing good is fresh twice, nothing new is seen, and the bound holds', () => {
    const arrival = fc.record({
      identity: fc.integer({ min: 0, max: 30 }),
      waitMs: fc.integer({ min: 0, max: 9_000 }),
      goodMs: fc.integer({ min: 1, max: 120_000 }),
    })
    fc.assert(
      fc.property(fc.array(arrival, { maxLength: 200 }), fc.integer({ min: 1, max: 20 }), (arrivals, capacity) => {
        const clock = createManualClock()
        const set = createReplaySet(capacity)
        const accepted = new Map<number, number>()
        for (const { identity, waitMs, goodMs } of arrivals) {
          clock.advance(waitMs)
          // An identity has one life: a replay brings the same end along.
          const until = accepted.get(identity) ?? clock.now() + goodMs
          if (until <= clock.now()) continue
          const recorded = set.record(String(identity), until, clock.now())
          if (accepted.has(identity)) expect(recorded).toBe('seen')
          else expect(['fresh', 'full']).toContain(recorded)
          if (recorded === 'fresh') accepted.set(identity, until)
          expect(set.size).toBeLessThanOrEqual(capacity)
        }
      }),
      { seed: 17, numRuns: 300 },
    )
  })
})
