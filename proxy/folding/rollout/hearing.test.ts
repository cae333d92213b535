import { expect, it } from 'vitest'
import { createHearing } from './hearing.ts'
import type { Report } from './reports.ts'
import { flush } from './test-evidence.ts'

const report = (replica: string, seq: number, at: number): Report => ({ flush: flush({ replica, seq, at }), seen: {} })
const timesOf = (reports: readonly Report[]): number[] => reports.map(({ flush: { at } }) => at)

it('a report is as old as it is here, whatever the clock of its process says (scenario 3)', () => {
  const clock = { now: 1_000_000 }
  const hearing = createHearing(() => clock.now)
  expect(timesOf(hearing.heard([report('b', 1, 700_000), report('c', 1, 1_300_000)]))).toEqual([1_000_000, 1_000_000])
  clock.now += 20_000
  expect(timesOf(hearing.heard([report('b', 1, 700_000), report('c', 2, 1_320_000)]))).toEqual([1_000_000, 1_020_000])
})

it('a replica that is not heard any more is waited for until it has let go of its shares', () => {
  const clock = { now: 0 }
  const hearing = createHearing(() => clock.now)
  const both = (seq: number): readonly Report[] => hearing.heard([report('a', seq, 0), report('b', 1, 0)])
  both(1)
  clock.now = 120_000
  expect(hearing.serving(both(2))).toEqual(['a', 'b'])
  clock.now = 120_001
  expect(hearing.serving(both(3))).toEqual(['a'])
})
