import { describe, expect, it } from 'vitest'
import { createLiveLatency } from './live-latency.ts'
import { createShadowBudget } from './shadow-budget.ts'
import type { Strata } from './strata.ts'
import { createStratifiedSample, isDrawn } from './stratified-sample.ts'
import { plainStrata } from './test-comparisons.ts'

const clock = () => {
  const time = { now: 0 }
  return { time, now: () => time.now }
}

describe('a shadow budget', () => {
  it('lets so many be under way at a time', () => {
    const budget = createShadowBudget({ maxInflight: 2, ...clock() })
    const leases = [budget.ask(1), budget.ask(1)]
    expect(budget.ask(1)).toBe('inflight')
    expect(budget.inflight).toBe(2)
    for (const lease of leases) if (typeof lease === 'object') lease.end()
    expect(budget.inflight).toBe(0)
    expect(budget.ask(1)).toBeTypeOf('object')
    expect(budget.dropped()).toEqual({ inflight: 1, tokens: 0, 'live-traffic': 0, off: 0 })
  })

  it('spends so many tokens a second', () => {
    const { time, now } = clock()
    const budget = createShadowBudget({ maxInflight: 1_000, tokensPerSecond: 100, burst: 100, now })
    let begun = 0
    for (let ms = 0; ms < 10_000; ms += 10) {
      time.now = ms
      if (typeof budget.ask(10) === 'object') begun++
    }
    // 100 saved up, and 100 a second for ten seconds.
    expect(begun * 10).toBeGreaterThan(1_050)
    expect(begun * 10).toBeLessThanOrEqual(1_100)
    expect(budget.dropped().tokens).toBe(1_000 - begun)
  })

  it('owes what took more than was asked for, and gives back what took less', () => {
    const { time, now } = clock()
    const budget = createShadowBudget({ tokensPerSecond: 10, burst: 100, now })
    const first = budget.ask(10)
    if (typeof first === 'object') first.end(200)
    expect(budget.ask(1)).toBe('tokens')
    time.now = 10_500
    const second = budget.ask(5)
    expect(second).toBeTypeOf('object')
    if (typeof second === 'object') second.end(0)
    expect(budget.ask(5)).toBeTypeOf('object')
  })

  it('counts the end of a lease once', () => {
    const budget = createShadowBudget({ burst: 10, ...clock() })
    const lease = budget.ask(5)
    if (typeof lease === 'object') {
      lease.end(0)
      lease.end(0)
    }
    expect(budget.inflight).toBe(0)
  })

  it('lets one that asks for more than can be saved up go when all is', () => {
    const budget = createShadowBudget({ burst: 10, ...clock() })
    expect(budget.ask(500)).toBeTypeOf('object')
    expect(budget.ask(1)).toBe('tokens')
  })

  it('begins nothing while it is off, or while live traffic suffers', () => {
    let slow = false
    const budget = createShadowBudget({ live: { observed: () => undefined, isSlow: () => slow }, ...clock() })
    budget.switch(false)
    expect(budget.ask(1)).toBe('off')
    budget.switch(true)
    slow = true
    expect(budget.ask(1)).toBe('live-traffic')
    slow = false
    expect(budget.ask(1)).toBeTypeOf('object')
    expect(budget.dropped()).toMatchObject({ off: 1, 'live-traffic': 1 })
  })
})

describe('live latency', () => {
  const minute = (live: ReturnType<typeof createLiveLatency>, at: number, tail: number) => {
    for (let each = 0; each < 600; each++) live.observed(each % 50 === 0 ? tail : 40, at * 60_000 + each * 101)
  }

  it('is slow when the p99 rises over what it was in the hour, and not when it is its usual self', () => {
    const live = createLiveLatency()
    for (let at = 0; at < 20; at++) minute(live, at, 200)
    expect(live.isSlow(20 * 60_000)).toBe(false)
    minute(live, 20, 220)
    expect(live.isSlow(21 * 60_000)).toBe(false)
    minute(live, 21, 300)
    expect(live.isSlow(22 * 60_000)).toBe(true)
    minute(live, 22, 200)
    expect(live.isSlow(23 * 60_000)).toBe(false)
  })

  it('is not slow without a baseline, nor by what a few answers say', () => {
    const live = createLiveLatency()
    for (let at = 0; at < 3; at++) minute(live, at, 200 * (at + 1))
    expect(live.isSlow(180_000)).toBe(false)
    const quiet = createLiveLatency()
    for (let at = 0; at < 199; at++) quiet.observed(at * 10, at * 60_000)
    expect(quiet.isSlow(200 * 60_000)).toBe(false)
  })

  it('forgets what is older than an hour', () => {
    const live = createLiveLatency()
    for (let at = 0; at < 10; at++) minute(live, at, 200)
    minute(live, 10, 900)
    expect(live.isSlow(11 * 60_000)).toBe(true)
    expect(live.isSlow(80 * 60_000)).toBe(false)
  })
})

describe('a stratified sample', () => {
  const rare: Strata = { ...plainStrata, json: true }
  const idOf = (at: number): string => `call-${at}`

  it('takes its share of all calls, the same ones everywhere', () => {
    const [one, two] = [0, 0].map(() => createStratifiedSample({ rate: 0.1, quota: 0 }))
    let taken = 0
    for (let at = 0; at < 5_000; at++) {
      const call = { id: idOf(at), tier: 'free', strata: plainStrata }
      const takes = one?.takes(call, at) ?? false
      expect(two?.takes(call, at)).toBe(takes)
      expect(isDrawn(call.id, 0.1)).toBe(takes)
      taken += takes ? 1 : 0
    }
    expect(taken).toBeGreaterThan(430)
    expect(taken).toBeLessThan(570)
  })

  it('fills strata that are rare', () => {
    const sample = createStratifiedSample({ rate: 0.001, quota: 3 })
    const takenOf = (strata: Strata, tier: string): number =>
      Array.from({ length: 50 }, (_, at) => sample.takes({ id: idOf(at), tier, strata }, at)).filter(Boolean).length
    expect(takenOf(plainStrata, 'free')).toBe(3)
    expect(takenOf(rare, 'free')).toBe(3)
    expect(takenOf(rare, 'vip')).toBe(3)
  })

  it('has its quota again in every window, and takes nothing at a share of 0', () => {
    const sample = createStratifiedSample({ rate: 1e-9, quota: 1, windowMs: 100 })
    const takes = [0, 50, 100, 150, 200].map((at) => sample.takes({ id: 'x', tier: '', strata: rare }, at))
    expect(takes).toEqual([true, false, true, false, true])
    expect(createStratifiedSample({ rate: 0 }).takes({ id: 'x', tier: '', strata: rare }, 0)).toBe(false)
  })
})
