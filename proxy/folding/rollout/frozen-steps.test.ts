import { expect, it } from 'vitest'
import type { JsonObject } from '../../../plugins/jws-json.ts'
import { createTimeHistogram } from '../collect/histogram.ts'
import { emptyDocument, type Notes, notesAfter } from '../state/document.ts'
import type { NoteRequest } from '../state/state.ts'
import { cusumThreshold } from '../statistics/cusum-run-length.ts'
import type { RolloutStep } from './evidence-counts.ts'
import { createFrozenSteps } from './frozen-steps.ts'
import type { Report } from './reports.ts'
import { stageConstants } from './stage-constants.ts'
import { arm, began, cell, flush } from './test-evidence.ts'

/** Processes over one shared memory, each with a clock of its own. */
function room() {
  const words = new Map<string, Map<string, JsonObject>>()
  let lost = false
  let notes: Notes = {}
  let takes = false
  const join = (process: string, clock: { now: number }, own?: Report) => {
    const asked: (readonly [RolloutStep, number])[] = []
    const state = {
      lead: () => (takes ? { fence: 1 } : undefined),
      get known() {
        return { ...emptyDocument, notes }
      },
      async note({ notes: change, keeps = false }: NoteRequest) {
        if (!takes) return 'unavailable' as const
        notes = notesAfter(notes, change, keeps) ?? {}
        return 'done' as const
      },
      publish(rollout: string, stage: string, counters: JsonObject) {
        const key = `${rollout} ${stage}`
        words.set(key, (words.get(key) ?? new Map()).set(process, counters))
      },
      async collect(rollout: string, stage: string) {
        if (lost) throw new Error('store_lost')
        const all = [...(words.get(`${rollout} ${stage}`) ?? [])]
        return all.map(([replica, counters]) => ({ replica, boot: replica, counters }))
      },
    }
    const log = { info() {}, warn() {}, error() {} }
    const steps = createFrozenSteps({
      state,
      process,
      log,
      now: () => clock.now,
      own: () => own,
      constants(step, facts) {
        asked.push([step, facts.control.n])
        return stageConstants(step, { layer: 'prompt', unit: 'conversation', ...facts })
      },
    })
    return { steps, state, asked }
  }
  return { join, lose: () => (lost = true), takeNotes: () => (takes = true), notes: () => notes }
}

function reportOf(replica: string, control: number, ms: number): Report {
  const times = createTimeHistogram()
  for (let each = 0; each < 250; each++) times.add(ms + each)
  return {
    flush: flush({ replica, boot: replica, cells: [cell('S1', arm(10), arm(control, { bad: control / 100 }))] }),
    latency: { replica, boot: replica, seq: 1, step: 'S1', arms: { canary: {}, control: { any: times.text() } } },
    seen: {},
  }
}

it('what a step is judged by rests on what all processes saw of the control before it', async () => {
  const { join } = room()
  const clock = { now: 1_000 }
  const [a, b] = [join('a', clock, reportOf('a', 2_000, 100)), join('b', clock)]
  await a.steps.of('r1', 'S1')
  b.state.publish('r1', 'S1', reportOf('b', 3_000, 100) as unknown as JsonObject)
  const frozen = await a.steps.of('r1', 'S2')
  expect(a.asked.at(-1)).toEqual(['S2', 5_000])
  expect(frozen.constants.errors.p0).toBeGreaterThan(0.01)
  expect(frozen.limits['*']?.q99Ms).toBeGreaterThan(300)
})

it('the last step bakes under a CUSUM that is made for as many calls as the rollout brought until then', async () => {
  const { join } = room()
  const clock = { now: began }
  const { steps } = join('a', clock, reportOf('a', 20_000, 100))
  await steps.of('r1', 'S3')
  clock.now = began + 6 * 3_600_000
  const { constants } = await steps.of('r1', 'S4')
  // Four times 20,010 calls in a day, each heard three times.
  expect(constants.cusum).toBe(cusumThreshold(constants.errors, 3 * 4 * 20_010))
  expect(constants.cusum).toBeGreaterThan(7)
})

it('the earliest word counts for all, however late a process hears of it', async () => {
  const { join } = room()
  const [early, late] = [join('a', { now: 2_000 }), join('b', { now: 1_999 })]
  await early.steps.of('r1', 'S1')
  late.state.publish('r1', 'S1 frozen', { ...(await late.steps.of('r1', 'S1')), at: 1_000, by: 'b' } as never)
  const [one, other] = [await early.steps.of('r1', 'S1'), await late.steps.of('r1', 'S1')]
  expect([one.by, one.at]).toEqual(['b', 1_000])
  expect(other).toEqual(one)
})

it('stays as it is once it has settled, also for a process that lost the others', async () => {
  const { join, lose } = room()
  const clock = { now: 1_000 }
  const { steps, asked } = join('a', clock)
  const first = await steps.of('r1', 'S1')
  clock.now += 60_000
  lose()
  expect(await steps.of('r1', 'S1')).toBe(first)
  expect(asked).toHaveLength(1)
})

it('is noted beside the stages, so that whoever leads next cannot choose anything else, even with all counters gone', async () => {
  const { join, lose, takeNotes, notes } = room()
  takeNotes()
  const [first, next] = [join('a', { now: 2_000 }, reportOf('a', 2_000, 100)), join('b', { now: 900_000 })]
  const frozen = await first.steps.of('r1', 'S1')
  expect(Object.keys(notes())).toEqual(['frozen r1 S1'])
  lose()
  expect(await next.steps.of('r1', 'S1')).toEqual(frozen)
  expect(next.asked).toEqual([])
  // It gives way to that of the next step only.
  await next.steps.of('r1', 'S2')
  expect(Object.keys(notes())).toEqual(['frozen r1 S2'])
  expect(await first.steps.of('r1', 'S1')).toEqual(frozen)
})

it('of two that decide at once the one that was noted first counts, and a rollout of before notes what it was judged by', async () => {
  const { join, takeNotes, notes } = room()
  const [a, b] = [join('a', { now: 1_000 }), join('b', { now: 1_500 })]
  const before = await a.steps.of('r1', 'S1')
  expect(notes()).toEqual({})
  takeNotes()
  expect(await b.steps.of('r1', 'S1')).toEqual(before)
  expect(JSON.parse(notes()['frozen r1 S1'] ?? '')).toEqual(before)
  const other = join('c', { now: 10 })
  expect(await other.steps.of('r1', 'S1')).toEqual(before)
  expect(other.asked).toEqual([])
})
