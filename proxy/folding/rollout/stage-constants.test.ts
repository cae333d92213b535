import { describe, expect, it } from 'vitest'
import { eventThreshold } from '../statistics/relative.ts'
import { constantsDigest, stageConstants } from './stage-constants.ts'
import { canaryStep, frozenErrorRate } from './stage-start.ts'

const facts = { layer: 'prompt', unit: 'conversation', control: { n: 100_000, x: 50 } } as const

describe('the constants of a step', () => {
  it.each([
    ['S1', 930, 50, 5, 10, 0.005],
    ['S2', 2_500, 200, 10, 20, 0.003],
    ['S3', 7_300, 500, 20, 30, 0.002],
  ] as const)('%s are those of the table', (step, calls, units, tenants, minutes, p1) => {
    const { needs, errors, mostMs } = stageConstants(step, facts)
    expect(needs).toMatchObject({ calls, units, tenants, dwellMs: minutes * 60_000 })
    expect([errors.p0, errors.p1, mostMs]).toEqual([0.001, p1, 86_400_000])
  })
  it('the last step bakes for a day under a CUSUM that lasts for twenty bakes', () => {
    const { needs, mostMs, cusum } = stageConstants('S4', { ...facts, callsInBake: 200_000 })
    expect([needs.dwellMs, mostMs, cusum]).toEqual([86_400_000, 3 * 86_400_000, 10])
    expect(stageConstants('S4', facts).cusum).toBe(7)
  })
  it('the dwell covers two long calls, a window of the limits, and at the end a cached answer', () => {
    const slow = { ...facts, p99DurationMs: 900_000, windowMs: 3_600_000, cacheTtlMs: 60_000 }
    expect(stageConstants('S1', slow).needs.dwellMs).toBe(3_600_000)
    expect(stageConstants('S3', slow).needs.dwellMs).toBe(3_660_000)
  })
  it('calls are stuck after five times the p99, at least 30 s', () => {
    expect([stageConstants('S1', facts).stuckMs, stageConstants('S1', { ...facts, q99Ms: 8_000 }).stuckMs]).toEqual([
      30_000, 40_000,
    ])
  })
  it('false alarms of a whole rollout add up to at most 5 %', () => {
    const { alpha, errors, fallbacks } = stageConstants('S1', facts)
    const sum = Object.values(alpha).reduce((all, each) => all + each, errors.alpha + fallbacks.alpha)
    expect(sum).toBeLessThanOrEqual(0.05)
    expect(eventThreshold(alpha.bad)).toBeCloseTo(Math.log(100), 12)
  })
  it('of layers that are drawn by tenant say what is too much for tenants alone to explain', () => {
    const { far, errors } = stageConstants('S1', { ...facts, unit: 'tenant' })
    expect(far).toEqual({ ...errors, p0: 4 * errors.p0, p1: 20 * errors.p0 })
    expect(stageConstants('S1', { ...facts, unit: 'conversation' }).far).toBeUndefined()
    const broken = { ...facts, unit: 'tenant', control: { n: 100_000, x: 20_000 } } as const
    expect(stageConstants('S1', broken).far).toMatchObject({ p0: 0.2, p1: 0.9 })
  })
  it('of the tiers that move last are stricter, in the last step alone', () => {
    const { vip, errors } = stageConstants('S4', facts)
    expect(vip).toEqual({ errors: { ...errors, p1: 2 * errors.p0 }, runs: { length: 2, ofOneUnit: 4 } })
    for (const step of ['shadow', 'S1', 'S2', 'S3'] as const) expect(stageConstants(step, facts).vip).toBeUndefined()
  })
  it('have a digest that any change changes', () => {
    const constants = stageConstants('S1', facts)
    expect(constantsDigest(stageConstants('S1', facts))).toBe(constantsDigest(constants))
    expect(constantsDigest({ ...constants, cusum: 8 })).not.toBe(constantsDigest(constants))
  })
})

describe('the rate that a service is allowed', () => {
  it.each([
    ['a healthy control: the floor', 100_000, 50, 0.001, 0.001],
    ['one of 0.5 %: a little more than that', 100_000, 500, 0.005, 0.0054],
    ['one that is broken: the ceiling', 100_000, 20_000, 0.05, 0.05],
    ['one with hardly any calls: the floor', 100, 0, 0.001, 0.001],
    ['none: the floor', 0, 0, 0.001, 0.001],
  ])('of %s', (_, n, x, least, most) => {
    expect(frozenErrorRate({ n, x })).toBeGreaterThanOrEqual(least)
    expect(frozenErrorRate({ n, x })).toBeLessThanOrEqual(most)
  })
})

it('a share of the canary is a step: the last one is always S4', () => {
  expect([1, 10, 50, 100].map((weight) => canaryStep(weight, [1, 10, 50, 100]))).toEqual(['S1', 'S2', 'S3', 'S4'])
  expect([10, 100].map((weight) => canaryStep(weight, [10, 100]))).toEqual(['S1', 'S4'])
  expect(canaryStep(100, [100])).toBe('S4')
})
