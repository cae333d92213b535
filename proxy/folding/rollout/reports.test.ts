import { expect, it } from 'vitest'
import { createTimeHistogram } from '../collect/histogram.ts'
import { createSeenTiers } from '../collect/seen-tiers.ts'
import { began, collecting, endOf, hashOf } from '../collect/test-calls.ts'
import { createReporter, type Report, viewFromReports } from './reports.ts'
import { constantsOf, flush } from './test-evidence.ts'

function reportWith(tiers: Readonly<Record<string, number>>, p99?: { canary: number; control: number }): Report {
  const seen = createSeenTiers('a')
  for (const [tier, units] of Object.entries(tiers))
    for (let unit = 0; unit < units; unit++)
      seen.add(tier, { unit: hashOf(unit), tenant: hashOf(unit % 10), strata: ['stream'], at: began })
  const text = (ms: number): string => {
    const times = createTimeHistogram()
    times.add(ms)
    return times.text()
  }
  const arms = p99 && { canary: { any: text(p99.canary) }, control: { any: text(p99.control) } }
  return {
    flush: flush(),
    seen: seen.sketches(began),
    ...(arms ? { latency: { replica: 'a', boot: '1', seq: 1, step: 'S4' as const, arms } } : {}),
  }
}

const frozen = (step: 'shadow' | 'S1' | 'S4') => ({
  at: began,
  by: 'a',
  constants: constantsOf(step),
  limits: { '*': { q95Ms: 80, q99Ms: 100 } },
})

it('of what was seen, each tier counts by its own share', () => {
  const shares = { free: 0.1, pro: 0.5 }
  const { seen } = viewFromReports([reportWith({ free: 40, pro: 20, vip: 30 })], { shares, frozen: frozen('S1') })
  expect(seen.units).toBe(14)
  expect(seen.strata).toEqual({ stream: 14 })
})

it('in shadow everything that was seen is to be compared', () => {
  const { seen } = viewFromReports([reportWith({ free: 40 })], { shares: {}, frozen: frozen('shadow') })
  expect(seen.strata).toEqual({ stream: 40 })
})

it('in the last step the canary is held against the control of the step before', () => {
  const report = reportWith({}, { canary: 150, control: 1 })
  const { p99 } = viewFromReports([report], { shares: {}, frozen: frozen('S4') })
  expect(p99).toEqual({ canaryMs: expect.closeTo(150, -1), controlMs: 100, calls: 1 })
})

it('times of another step than the one being judged are left out', () => {
  const report = reportWith({}, { canary: 150, control: 1 })
  expect(viewFromReports([report], { shares: {}, frozen: frozen('S1') }).p99).toBeUndefined()
})

it('a process writes its times and sketches every ten seconds, and its counts each time', () => {
  const collector = collecting()
  const clock = { now: began }
  const reporter = createReporter(collector, () => clock.now)
  const units = (report: Report): number =>
    viewFromReports([report], { shares: { free: 1 }, frozen: frozen('S1') }).seen.units
  reporter.of('r1')
  collector.onEnd(endOf())
  const soon = reporter.of('r1')
  expect([soon.flush.cells[0]?.canary.ended, units(soon)]).toEqual([1, 0])
  clock.now += 10_000
  expect(units(reporter.of('r1'))).toBe(1)
})
