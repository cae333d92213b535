import { describe, expect, it } from 'vitest'
import { createRandom } from '../../../test/support/random.ts'
import type { Collector } from './collector.ts'
import { createTimeHistogram, mergedHistograms } from './histogram.ts'
import { limitsFromFlushes, p99FromFlushes } from './latency-limits.ts'
import { began, collecting, endOf, type TestEnd } from './test-calls.ts'

const timed = (ms: number, call: TestEnd = {}) =>
  endOf({ ...call, attrs: { ...call.attrs, 'foldgate.first_byte_ms': ms } })
const canaryOf = (collector: Collector) => collector.flush('r1').cells.at(-1)!.canary

describe('times to the first byte', () => {
  it('are held against the limits that were frozen', () => {
    const collector = collecting()
    for (const ms of [100, 500, 501, 900, 901]) collector.onEnd(timed(ms))
    expect(canaryOf(collector)).toMatchObject({ timed: 5, overQ95: 3, overQ99: 1 })
  })

  it('are dropped at first in the canary, once a rollout (scenario 31)', () => {
    const collector = collecting({ warmUp: 50 })
    for (let each = 0; each < 60; each++) collector.onEnd(timed(5_000))
    for (let each = 0; each < 60; each++) collector.onEnd(timed(5_000, { arm: 'control' }))
    const [cell] = collector.flush('r1').cells
    expect([cell?.canary.timed, cell?.control.timed]).toEqual([10, 60])
    collector.begin({ rollout: 'r1', step: 'S2', startedAt: began, limits: { '*': { q95Ms: 1, q99Ms: 2 } } })
    collector.onEnd(timed(5_000, { attrs: { 'foldgate.step': 'S2' } }))
    expect(canaryOf(collector).timed).toBe(1)
  })

  it.each<[string, TestEnd]>([
    ['what a cache answers', { attrs: { 'foldgate.cache_hit': true } }],
    ['what ends badly', { code: 500 }],
    ['refusals', { code: 403 }],
    ['aborts', { code: 499 }],
    ['what callers had the gateway do', { fallback: 'context-overflow' }],
    ['what never began', { attrs: { 'foldgate.first_byte_ms': undefined } }],
  ])('do not count for %s', (_, call) => {
    const collector = collecting()
    collector.onEnd(endOf(call))
    expect(canaryOf(collector).timed).toBe(0)
  })

  it('count for a fallback that the runner caused: its caller waited for it', () => {
    const collector = collecting()
    collector.onEnd(timed(700, { fallback: 'runner-timeout' }))
    expect(canaryOf(collector)).toMatchObject({ timed: 1, overQ95: 1 })
  })

  it('are not compared where no limit is known', () => {
    const collector = collecting()
    collector.begin({ rollout: 'r2', step: 'shadow', startedAt: began })
    collector.onEnd(timed(700, { attrs: { 'foldgate.rollout': 'r2', 'foldgate.stage': 'shadow' }, arm: 'control' }))
    expect(collector.flush('r2').cells[0]!.control).toMatchObject({ ended: 1, timed: 0 })
  })
})

describe('limits', () => {
  const heard = (replica: string, seed: number) => {
    const collector = collecting({ replica })
    const random = createRandom(seed)
    for (let each = 0; each < 1_000; each++) {
      const stream = each % 2 === 0
      const ms = (stream ? 100 : 1_000) * (1 + random())
      collector.onEnd(timed(ms, { arm: 'control', attrs: { 'foldgate.stream': stream } }))
    }
    for (let each = 0; each < 10; each++) {
      collector.onEnd(timed(9_000, { arm: 'control', attrs: { 'foldgate.size': 'more' } }))
    }
    return collector
  }

  it('are those of the control of the step before, by stratum, when none are given', () => {
    const collector = heard('a', 1)
    collector.begin({ rollout: 'r1', step: 'S2', startedAt: began })
    const attrs = { 'foldgate.step': 'S2', 'foldgate.size': '1k' } as const
    for (const ms of [190, 205]) collector.onEnd(timed(ms, { attrs }))
    for (const ms of [1_900, 2_050]) collector.onEnd(timed(ms, { attrs: { ...attrs, 'foldgate.stream': false } }))
    expect(canaryOf(collector)).toMatchObject({ timed: 4, overQ95: 2, overQ99: 2 })
  })

  it('stay as they are when the step begins anew, and when too little was seen', () => {
    const collector = heard('a', 1)
    collector.begin({ rollout: 'r1', step: 'S1', startedAt: began + 1 })
    collector.onEnd(timed(600, { at: began + 2 }))
    collector.begin({ rollout: 'r1', step: 'S2', startedAt: began + 3 })
    collector.onEnd(timed(600, { at: began + 4, attrs: { 'foldgate.step': 'S2' } }))
    expect(collector.flush('r1').cells.map(({ canary }) => [canary.overQ95, canary.overQ99])).toEqual([
      [0, 0],
      [1, 0],
      [1, 0],
    ])
  })

  it('of several replicas are those of all their times, and a stratum with few goes by all', () => {
    const flushes = [heard('a', 1), heard('b', 2)].map((each) => each.latency('r1')!)
    const limits = limitsFromFlushes([...flushes, ...flushes])
    expect(Object.keys(limits).sort()).toEqual(['*', 'document 1k ', 'stream 1k '])
    expect(limits['stream 1k ']!.q95Ms).toBeGreaterThan(190)
    expect(limits['stream 1k ']!.q95Ms).toBeLessThan(200)
    expect(limits['document 1k ']!.q99Ms).toBeGreaterThan(1_960)
    expect(limits['document 1k ']!.q99Ms).toBeLessThan(2_020)
  })

  it('p99 of both arms is told for people', () => {
    const collector = heard('a', 3)
    expect(p99FromFlushes([collector.latency('r1')!])).toBeUndefined()
    for (let each = 0; each < 100; each++) collector.onEnd(timed(3_000))
    const p99 = p99FromFlushes([collector.latency('r1')!])!
    expect(p99.calls).toBe(100)
    expect(p99.canaryMs).toBeGreaterThan(2_970)
    expect(p99.canaryMs).toBeLessThan(3_030)
    expect(p99.controlMs).toBeGreaterThan(1_900)
  })

  it('strata beyond the room share one', () => {
    const collector = collecting()
    for (let each = 0; each < 60; each++) collector.onEnd(timed(10, { attrs: { 'gen_ai.request.model': `m${each}` } }))
    expect(Object.keys(collector.latency('r1')!.arms.canary)).toHaveLength(49)
    expect(collector.overflow.strata).toBe(12)
  })
})

it('merging histograms is taking all their times at once', () => {
  const random = createRandom(5)
  const times = Array.from({ length: 500 }, () => random() * 20_000)
  const [all, ...parts] = [0, 1, 2, 3].map(() => createTimeHistogram())
  for (const [at, ms] of times.entries()) {
    all!.add(ms)
    parts[at % 3]!.add(ms)
  }
  const merged = mergedHistograms(parts.map((each) => each.text()))
  expect(merged.count).toBe(500)
  expect([50, 95, 99].map(merged.percentile)).toEqual([50, 95, 99].map(all!.percentile))
})

it('a time beyond an hour is an hour', () => {
  const times = createTimeHistogram()
  times.add(9_000_000)
  times.add(-5)
  expect(times.count).toBe(2)
  expect(times.percentile(100)).toBeGreaterThanOrEqual(3_600_000 * 0.99)
})
