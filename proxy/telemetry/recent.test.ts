import { expect, test } from 'vitest'
import { createManualClock } from '../../test/support/clock.ts'
import type { EndedCall } from './meters.ts'
import { createRecent } from './recent.ts'

const minute = 60_000
const start = 1_700_000_040_000 - (1_700_000_040_000 % minute)
const layers = ['auth', 'cache']

function begin() {
  const clock = createManualClock(start)
  const recent = createRecent({ clock, layers })
  const calls = (count: number, more: Partial<EndedCall> = {}): void => {
    const call = { route: 'chat', code: 200, source: 'runner', arm: 'gateway', seconds: 1, ...more } as const
    for (let number = 0; number < count; number++) recent.ended(call)
  }
  return { clock, recent, calls }
}

test('a process that has just begun has the minutes since its start, and nothing to hold them against', () => {
  const { recent, calls } = begin()
  calls(3)
  const { now, before, beforeIs, series } = recent.view()
  expect([now.calls, now.minutes, before, beforeIs]).toEqual([3, 1, null, 'since-start'])
  expect(series.calls.slice(-2)).toEqual([null, 3])
  expect(now.firstByteMs).toBeNull()
})

test('what failed, was refused, left or was shed is told apart', () => {
  const { recent, calls } = begin()
  calls(90)
  calls(4, { code: 503 })
  calls(3, { code: 429, source: 'gateway' })
  calls(2, { code: 499 })
  calls(1, { code: 503, source: 'shed' })
  expect(recent.view().now).toMatchObject({ calls: 100, failed: 4, refused: 3, left: 2, shed: 1 })
})

test('the last five minutes are held against the same five an hour earlier', () => {
  const { clock, recent, calls } = begin()
  for (let number = 0; number < 70; number++) {
    calls(10 + number, { overheadSeconds: 0.002, runnerSeconds: number < 6 ? 0.1 : 0.4 })
    if (number < 69) clock.advance(minute)
  }
  const { now, before, beforeIs } = recent.view()
  // Minutes 65 to 69, and 5 to 9.
  expect([now.calls, before?.calls, beforeIs, now.minutes, before?.minutes]).toEqual([385, 85, 'hour-ago', 5, 5])
  expect(now.firstByteMs?.p50).toBeGreaterThan(350)
  expect(now.firstByteMs?.p50).toBeLessThan(450)
  expect(now.overheadMs?.p95).toBeGreaterThan(1.7)
  expect(now.overheadMs?.p95).toBeLessThan(2.4)
})

test('a process younger than an hour holds them against everything since its start', () => {
  const { clock, recent, calls } = begin()
  calls(7)
  clock.advance(12 * minute)
  calls(1)
  const { before, beforeIs, now } = recent.view()
  expect([before?.calls, before?.minutes, beforeIs, now.calls]).toEqual([7, 8, 'since-start', 1])
})

test('minutes without calls count as none, and a minute of before the ring came round is gone', () => {
  const { clock, recent, calls } = begin()
  calls(5)
  clock.advance(65 * minute)
  calls(2)
  const { now, before, series } = recent.view()
  expect([now.calls, before?.calls]).toEqual([2, 0])
  expect(series.calls.filter((each) => each !== 0)).toEqual([2])
})

test('fallbacks that a caller asked for do not count', () => {
  const { recent } = begin()
  recent.fallback('cache', 'runner-error')
  recent.fallback('cache', 'runner-timeout')
  recent.fallback('auth', 'debug_force')
  recent.fallback('none', 'runner-error')
  expect(recent.view().fallbacks).toEqual([{ layer: 'cache', count: 2, reason: 'runner-timeout' }])
})

test('the last calls that failed and the slowest one are kept, and no more', () => {
  const { recent } = begin()
  const saw = (number: number, code: number, ms: number): void =>
    recent.saw({ at: start, requestId: `r${number}`, traceId: 't', route: 'chat', code, ms })
  for (let number = 1; number <= 20; number++) saw(number, 503, number)
  saw(21, 200, 900)
  saw(22, 429, 1)
  const { failed, slowest } = recent.view()
  expect(failed.map(({ requestId }) => requestId)).toEqual(['r20', 'r19', 'r18', 'r17', 'r16', 'r15', 'r14', 'r13'])
  expect(slowest?.requestId).toBe('r21')
})

test('quantiles are right to about a tenth', () => {
  const { recent, calls } = begin()
  for (let number = 1; number <= 1_000; number++) calls(1, { overheadSeconds: 0, runnerSeconds: number / 1_000 })
  const { p50, p95, p99 } = recent.view().now.runnerMs ?? { p50: 0, p95: 0, p99: 0 }
  for (const [found, right] of [
    [p50, 500],
    [p95, 950],
    [p99, 990],
  ] as const)
    expect(Math.abs(found - right) / right).toBeLessThan(0.12)
})
