import { describe, expect, it } from 'vitest'
import { createManualClock } from '../../../test/support/clock.ts'
import { differsOf, equalOf, plainStrata, skippedOf } from '../diff/test-comparisons.ts'
import { type Collector, createCollector } from './collector.ts'
import { most } from './overflow.ts'
import { began, collecting, createHandTimers, drawnFor, endOf, hashOf, whole } from './test-calls.ts'

const canaryOf = (collector: Collector) => collector.flush('r1').cells[0]!.canary

describe('calls', () => {
  it('are counted in their arm at the draw, at the send and at the end', () => {
    const collector = collecting()
    const canary = collector.assigned(drawnFor({ unit: 1 }))
    collector.assigned(drawnFor({ unit: 2, arm: 'control' }))
    canary.started('gpu-a')
    canary.started('gpu-b')
    collector.onEnd(endOf({ unit: 2, arm: 'control' }))
    const [cell] = collector.flush('r1').cells
    expect(cell).toMatchObject({ step: 'S1', tier: 'free', window: began })
    expect(cell?.canary).toMatchObject({ assigned: 1, started: 1, ended: 0 })
    expect(cell?.control).toMatchObject({ assigned: 1, started: 0, ended: 1, bad: 0 })
  })

  it('fall into the window in which they began', () => {
    const collector = collecting()
    collector.onEnd(endOf({ at: began + 299_999 }))
    collector.onEnd(endOf({ at: began + 300_000 }))
    expect(collector.flush('r1').cells.map(({ window }) => window - began)).toEqual([0, 300_000])
  })

  it('of a step fall into none that began before it, whatever the clock here says', () => {
    const clock = createManualClock(began)
    const collector = collecting({ clock })
    collector.onEnd(endOf({ at: began }))
    clock.advance(100_000)
    collector.begin({ rollout: 'r1', step: 'S1', startedAt: began + 100_000 })
    for (const at of [99_000, 100_000, 400_000]) collector.onEnd(endOf({ at: began + at }))
    // This clock is a minute behind the others.
    collector.begin({ rollout: 'r1', step: 'S2', startedAt: began + 160_000 })
    collector.onEnd(endOf({ at: began + 101_000, attrs: { 'foldgate.step': 'S2' } }))
    const { cells, places } = collector.flush('r1')
    expect(cells.map(({ step, window, canary }) => [step, window - began, canary.ended])).toEqual([
      ['S1', 0, 2],
      ['S1', 100_000, 1],
      ['S1', 300_000, 1],
      ['S2', 160_000, 1],
    ])
    expect(places[0]?.ended).toBe(1)
  })

  it('of a step that only their draws have told of fall into none that began before it either', () => {
    const clock = createManualClock(began + 200_000)
    const collector = createCollector({ clock, replica: 'a', boot: '1', later: () => () => undefined })
    for (const [step, since] of [
      ['S1', 100_000],
      ['S2', 150_000],
      ['S2', 160_000],
    ] as const) {
      const flight = collector.assigned(drawnFor({ at: began + 170_000 }, { step, stepStartedAt: began + since }))
      collector.onEnd(endOf({ at: began + 170_000, attrs: { 'foldgate.step': step } }))
      flight.over()
    }
    expect(collector.flush('r1').cells.map(({ step, window, canary }) => [step, window - began, canary.ended])).toEqual(
      [
        ['S1', 100_000, 1],
        ['S2', 150_000, 1],
        ['S2', 160_000, 1],
      ],
    )
    collector.close()
  })

  it('that began in an earlier step count there, and nowhere else', () => {
    const collector = collecting()
    collector.onEnd(endOf())
    collector.begin({ rollout: 'r1', step: 'S2', startedAt: began + 1_000 })
    collector.onEnd(endOf({ unit: 2, code: 500 }))
    collector.onEnd(endOf({ unit: 3, at: began + 2_000, attrs: { 'foldgate.step': 'S2' } }))
    const { cells, coverage, places } = collector.flush('r1')
    expect(cells.map(({ step, canary }) => [step, canary.ended, canary.bad])).toEqual([
      ['S1', 2, 1],
      ['S2', 1, 0],
    ])
    expect(coverage['stream']).toBe(1)
    expect(places.map(({ ended }) => ended)).toEqual([1, 1])
  })

  it('that are bad in the same way within a minute count once for their unit', () => {
    const collector = collecting()
    for (const at of [0, 10_000, 59_000]) collector.onEnd(endOf({ code: 500, at: began + at }))
    expect(canaryOf(collector)).toMatchObject({ ended: 3, bad: 1 })
    collector.onEnd(endOf({ code: 502, at: began }))
    collector.onEnd(endOf({ code: 500, at: began + 60_000 }))
    collector.onEnd(endOf({ code: 500, unit: 2 }))
    expect(canaryOf(collector)).toMatchObject({ ended: 6, bad: 4 })
  })

  it('that are bad in both arms count in both', () => {
    const collector = collecting()
    for (const arm of ['canary', 'control', 'control'] as const) collector.onEnd(endOf({ arm, code: 500 }))
    const [cell] = collector.flush('r1').cells
    expect([cell?.canary.bad, cell?.control.bad]).toEqual([1, 1])
  })

  it('that fell back are counted by reason', () => {
    const collector = collecting()
    for (const fallback of ['runner-error', 'runner-error', 'debug_force']) collector.onEnd(endOf({ fallback }))
    collector.onEnd(endOf({ fallback: 'signature', attrs: { 'foldgate.fallback.layers': 'auth' } }))
    expect(canaryOf(collector).fallbacks).toEqual({ 'runner-error': 2, debug_force: 1 })
    expect(collector.apart('r1')).toEqual({ debug_force: 1, 'taken-along': 1 })
  })

  it('of another version, and otherwise acknowledged than asked, are told apart', () => {
    const collector = collecting()
    const mismatches = ['version prompt', 'mode prompt', 'layer-missing prompt', 'mac', 'version auth']
    for (const mismatch of mismatches) collector.onEnd(endOf({ attrs: { 'foldgate.mismatch': mismatch } }))
    expect(canaryOf(collector)).toMatchObject({ unknownVersions: 1, mismatches: 2, bad: 3, failed: 3 })
  })

  it('whose caller chose the side are counted apart', () => {
    const collector = collecting()
    collector.onEnd(endOf({ code: 500, attrs: { 'foldgate.chosen': true } }))
    expect(collector.flush('r1')).toMatchObject({ cells: [], units: [], coverage: {} })
    expect(collector.apart('r1')).toEqual({ chosen: 1 })
  })

  it('say which strata they cover, unless they fell back', () => {
    const collector = collecting()
    collector.onEnd(endOf({ attrs: { 'foldgate.tools': true, 'foldgate.size': '64k' } }))
    collector.onEnd(endOf({ attrs: { 'foldgate.json': true, 'foldgate.stream': false, 'foldgate.tier': 'vip' } }))
    collector.onEnd(endOf({ fallback: 'runner-error' }))
    expect(collector.flush('r1').coverage).toEqual({
      ...{ stream: 1, 'non-stream': 1, 'cache-miss': 2, tools: 1, json: 1, vip: 1 },
      ...{ 'size-medium': 1, 'size-small': 1 },
    })
  })
})

describe('units', () => {
  it('are marked once, with everything that happened to them', () => {
    const collector = collecting()
    collector.assigned(drawnFor({ unit: 1 }))
    for (const code of [200, 429, 500, 404]) collector.onEnd(endOf({ code }))
    collector.assigned(drawnFor({ unit: 2, arm: 'control' }))
    const tier = { step: 'S1', tier: 'free' }
    expect(collector.flush('r1').units).toEqual([
      { ...tier, arm: 'canary', unit: hashOf(1), tenant: hashOf(1), events: ['bad', 'refused', 'limited'] },
      { ...tier, arm: 'control', unit: hashOf(2), tenant: hashOf(2), events: [] },
    ])
  })

  it('are marked in the share that is asked for, by their hash', () => {
    const collector = collecting()
    collector.begin({ rollout: 'r1', step: 'S2', startedAt: began, sampled: 0.25 })
    for (let unit = 0; unit < 400; unit++) collector.assigned(drawnFor({ unit }))
    const { units } = collector.flush('r1')
    expect(units.length).toBeGreaterThan(70)
    expect(units.length).toBeLessThan(130)
    expect(units.every(({ unit }) => Number.parseInt(unit[0]!, 16) < 4)).toBe(true)
  })

  it('beyond the room are a sample, and the flush says of what share', () => {
    const collector = collecting()
    for (let unit = 0; unit < most.marks + 300; unit++) collector.assigned(drawnFor({ unit }, { stream: false }))
    const { units, sampled = 1 } = collector.flush('r1')
    expect(sampled).toBe(0.5)
    expect(Math.abs(units.length / sampled / (most.marks + 300) - 1)).toBeLessThan(0.06)
    expect(collector.overflow).toEqual({})
  })
})

describe('windows beyond the room', () => {
  it('are put together, and lose no call', () => {
    const collector = collecting()
    const calls = 3_000
    for (let each = 0; each < calls; each++) {
      collector.onEnd(endOf({ unit: each % 20, at: began + each * 300_000, arm: each % 3 ? 'control' : 'canary' }))
    }
    const { cells } = collector.flush('r1')
    expect(cells.length).toBeLessThanOrEqual(most.cells)
    expect(cells.reduce((sum, { canary }) => sum + canary.ended, 0)).toBe(calls / 3)
    expect(cells.reduce((sum, { control }) => sum + control.ended, 0)).toBe((calls * 2) / 3)
    expect(collector.overflow.cells).toBeGreaterThan(0)
  })

  it('keep apart what came before a step began anew', () => {
    const clock = createManualClock(began)
    const collector = collecting({ clock })
    const anew = began + 400_000_000 + 1_234
    for (let each = 0; each < 1_200; each++) collector.onEnd(endOf({ at: began + each * 300_000 }))
    clock.advance(anew - began)
    collector.begin({ rollout: 'r1', step: 'S1', startedAt: anew })
    for (let each = 0; each < 1_200; each++) collector.onEnd(endOf({ at: anew + each * 300_000 }))
    const { cells } = collector.flush('r1')
    const after = cells.filter(({ window }) => window >= anew)
    expect(cells.length).toBeLessThanOrEqual(most.cells)
    expect(after.reduce((sum, { canary }) => sum + canary.ended, 0)).toBe(1_200)
  })

  it('tiers beyond sixteen are one', () => {
    const collector = collecting()
    for (let tier = 0; tier < 40; tier++) collector.onEnd(endOf({ attrs: { 'foldgate.tier': `t${tier}` } }))
    const { cells } = collector.flush('r1')
    expect(cells).toHaveLength(17)
    expect(cells.find(({ tier }) => tier === 'other')?.canary.ended).toBe(24)
  })
})

describe('calls in flight', () => {
  it('are told with the ages of those that wait for a first byte, by place', () => {
    const clock = createManualClock(began)
    const collector = collecting({ clock })
    const flights = Array.from({ length: 12 }, (_, unit) => {
      const flight = collector.assigned(drawnFor({ unit }, { stream: unit !== 11 }))
      flight.started(unit < 2 ? 'gpu-a' : 'gpu-b')
      clock.advance(1_000)
      return flight
    })
    collector.onEnd(endOf({ attrs: { 'foldgate.runner': 'gpu-b' } }))
    flights[0]!.firstByte()
    flights[1]!.over()
    const { inFlight, places } = collector.flush('r1')
    expect(inFlight).toBe(11)
    expect(places.map(({ kind, id, waitingMs }) => [kind, id, waitingMs])).toEqual([
      ['gateway', 'a', [10, 9, 8, 7, 6, 5, 4, 3].map((s) => s * 1_000)],
      ['runner', 'gpu-b', [10, 9, 8, 7, 6, 5, 4, 3].map((s) => s * 1_000)],
    ])
  })

  it('and ended ones account for what was drawn in a minute; others got lost', () => {
    const collector = collecting()
    const flights = [0, 0, 0, 0, 60_000].map((at) => collector.assigned(drawnFor({ at: began + at })))
    collector.onEnd(endOf())
    for (const flight of flights.slice(0, 3)) flight.over()
    flights[0]!.over()
    expect(collector.flush('r1').minutes).toEqual([
      { minute: began, assigned: 4, accounted: 2 },
      { minute: began + 60_000, assigned: 1, accounted: 1 },
    ])
  })
})

describe('comparisons', () => {
  it('are counted by stratum, with those that differ hard', () => {
    const collector = collecting()
    collector.compared('r1', equalOf({ strata: { ...plainStrata, stream: true } }))
    collector.compared('r1', differsOf({}, { tier: 'gold' }))
    collector.compared('r1', differsOf(), 'ignored')
    collector.compared('r1', differsOf({ class: 'T' }))
    collector.compared('r1', skippedOf('budget'))
    collector.compared('r1', skippedOf('not-drawn'))
    collector.compared('r1', differsOf({}, { layer: 'answer' }))
    expect(collector.flush('r1').shadow).toMatchObject({
      eligible: 5,
      skipped: 1,
      strata: {
        all: { compared: 4, different: 1 },
        stream: { compared: 1, different: 0 },
        vip: { compared: 1, different: 1 },
      },
    })
  })

  it('of whole answers are triples', () => {
    const collector = collecting()
    for (const differs of [1, 1, 0, undefined] as const) collector.paired('r1', { differs })
    expect(collector.flush('r1').shadow).toMatchObject({ worse: 2, better: 1, ties: 1, eligible: 0 })
  })

  it('that must not come out so are severe (scenario 15)', () => {
    const collector = collecting()
    collector.compared('r1', differsOf({ f1: 'auth-false-allow' }))
    collector.compared('r1', differsOf({ f1: 'cross-tenant-key' }))
    collector.severe('r1', 'leakedEffects')
    collector.severe('r1', 'billing')
    expect(collector.flush('r1').severe).toEqual({ falseAllow: 1, crossTenant: 1, leakedEffects: 1, billing: 1 })
  })
})

describe('blindness', () => {
  it('is when calls are over and no span has ended', () => {
    const timers = createHandTimers()
    const collector = collecting({ later: timers.later })
    const flights = [1, 2, 3].map((unit) => collector.assigned(drawnFor({ unit })))
    for (const flight of flights) flight.over()
    expect(collector.blind).toBeUndefined()
    timers.run()
    expect(collector.blind).toBe('3 calls are over, and not one span has ended')
    timers.run()
    expect(collector.blind).toBeDefined()
    whole(collector, {})
    timers.run()
    expect(collector.blind).toBeUndefined()
    collector.close()
    expect(timers.waiting).toBe(0)
  })

  it('is when calls are drawn for a minute and nothing ends, but not when nothing is drawn', () => {
    const [timers, clock] = [createHandTimers(), createManualClock(began)]
    const collector = collecting({ later: timers.later, clock })
    clock.advance(120_000)
    timers.run()
    expect(collector.blind).toBeUndefined()
    for (let unit = 0; unit < 10; unit++) collector.assigned(drawnFor({ unit }))
    clock.advance(59_000)
    timers.run()
    expect(collector.blind).toBeUndefined()
    clock.advance(1_000)
    timers.run()
    expect(collector.blind).toBe('10 calls were drawn in 60 s, and not one span has ended')
  })

  it('is when the end of a span cannot be read; and nothing is thrown', () => {
    const timers = createHandTimers()
    const collector = collecting({ later: timers.later })
    const attrs = new Proxy({}, { get: () => expect.fail('unreadable') })
    collector.onEnd({ code: 200, source: 'runner', attrs })
    timers.run()
    expect(collector.blind).toBe('1 ends of spans could not be read: unreadable')
  })
})

describe('rollouts', () => {
  it('are forgotten when asked to', () => {
    const collector = collecting()
    whole(collector, {})
    collector.reset('r1')
    expect(collector.flush('r1')).toMatchObject({ cells: [], units: [], inFlight: 0 })
  })

  it('beyond four push out the oldest', () => {
    const collector = collecting()
    for (const rollout of ['r2', 'r3', 'r4', 'r5']) collector.begin({ rollout, step: 'S1', startedAt: began })
    expect(collector.latency('r1')).toBeUndefined()
    expect(collector.overflow).toEqual({ rollouts: 1 })
  })

  it('that nobody has announced are counted all the same', () => {
    const collector = collecting()
    collector.onEnd(endOf({ attrs: { 'foldgate.rollout': 'r9', 'foldgate.stage': 'shadow' }, arm: 'control' }))
    const { cells } = collector.flush('r9')
    expect(cells.map(({ step, control }) => [step, control.ended])).toEqual([['shadow', 1]])
  })

  it('each flush has a higher number, and says whose it is', () => {
    const collector = collecting()
    const [one, two] = [collector.flush('r1'), collector.flush('r1')]
    expect(one).toMatchObject({ replica: 'a', boot: '1', at: began })
    expect(two.seq).toBeGreaterThan(one.seq)
  })
})
