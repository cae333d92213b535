import { describe, expect, it } from 'vitest'
import { mostShare } from '../support/sampling.ts'
import { canary, simulate } from './canary.ts'
import { canaryModel } from './canary-model.ts'
import { benchOptions } from './options.ts'
import { tableOf } from './report.ts'

const model = canaryModel({ runs: '300', p1: '0.005' }, true)

describe('the traffic of the suite', () => {
  it('is read from the command line', () => {
    const { canary: read, suites } = benchOptions([
      'canary',
      '--rate',
      '5',
      '--tenants',
      '3',
      '--stage',
      'S1,S3',
      '--unit',
      'tenant',
    ])
    expect([suites, read.rate, read.tenants, read.steps, read.unit]).toEqual([['canary'], 5, 3, ['S1', 'S3'], 'tenant'])
  })
  it.each([
    ['--rate', '0'],
    ['--stage', 'S9'],
    ['--unit', 'call'],
    ['--p1', '2'],
    ['--p0', 'x'],
  ])('%s %s is refused', (flag, value) => {
    expect(() => benchOptions(['canary', flag, value])).toThrow(flag)
  })
})

describe('a simulated canary', () => {
  it('that is healthy is rolled back no more often than the budget says', () => {
    for (const step of ['S1', 'S2', 'S3'] as const) {
      expect(simulate(model, step, model.p0).rollback).toBeLessThan(mostShare(0.02, model.runs))
    }
  })
  it.each(['S1', 'S2', 'S3'] as const)(
    'of very unequal tenants that is healthy is rolled back in %s as seldom, and held for them',
    (step) => {
      const unequal = { ...model, unit: 'tenant', spread: 1, zipf: 1.2, runs: 400 } as const
      const healthy = simulate(unequal, step, model.p0)
      expect(healthy.rollback).toBeLessThan(mostShare(0.02, unequal.runs))
      expect(healthy.hold).toBeLessThan(0.2)
      // Far too many are no matter of tenants, and what is less is not let through.
      const broken = simulate(unequal, step, 0.05)
      expect(broken.rollback).toBeGreaterThan(0.9)
      expect(broken.median).toBeLessThan(150)
      expect(simulate(unequal, step, 0.01).promote).toBeLessThan(0.25)
    },
  )
  it.each([
    ['S1', 0.01],
    ['S2', 0.005],
    ['S3', 0.003],
  ] as const)('in %s at a rate of %d is found about when the formula says', (step, rate) => {
    const { rollback, median, expected } = simulate(model, step, rate)
    expect(rollback).toBeGreaterThan(0.95)
    expect(median / expected.calls).toBeGreaterThan(0.6)
    expect(median / expected.calls).toBeLessThan(1.3)
  })
  it('that fails altogether is back after three calls', () => {
    expect(simulate(model, 'S2', 1)).toMatchObject({ rollback: 1, median: 3, p90: 3, fuses: { F3: 1 } })
  })
  it('is the same for the same seed', () => {
    expect(simulate(model, 'S1', 0.005)).toEqual(simulate(model, 'S1', 0.005))
    expect(simulate({ ...model, seed: 2 }, 'S1', 0.005)).not.toEqual(simulate(model, 'S1', 0.005))
  })
  it('drawn by tenant among three goes on with one of them', () => {
    const few = { ...model, tenants: 3, unit: 'tenant', runs: 100 } as const
    expect(simulate(few, 'S1', 1)).toMatchObject({ rollback: 1, promote: 0 })
  })
})

it('the table has a line for each rate in each step', () => {
  const table = tableOf(canary({ ...model, steps: ['S1'], runs: 50 }))
  expect(table).toMatch(/S1 at 0\.1 %, healthy: false alarms +≤/)
  expect(table).toMatch(/S1 at 0\.5 % .* calls \(p90 .*formula: F4/)
})
