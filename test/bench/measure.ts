import type { SaturatePlan, Saturation } from './clients.ts'
import { median } from './figures.ts'
import { cpuSeconds } from './machine.ts'
import type { Rig } from './rig.ts'
import type { CallPlan } from './wire-client.ts'

/** Something that answers calls and is measured. */
export interface Subject {
  readonly name: string
  readonly port: number
  /** Its process; absent where its CPU time says nothing. */
  readonly pid?: number
  readonly token?: string
  /** Every body is another; else all are equal. */
  readonly unique?: boolean
}

let counter = 1

/** What the calls to a subject are made from; numbers of bodies are never used twice. */
export function callsTo(subject: Subject, bodyBytes: number): CallPlan {
  counter += 10_000_000
  const { port, token, unique } = subject
  return { port, bodyBytes, ...(token ? { token } : {}), ...(unique ? { first: counter } : {}) }
}

/** One saturated measurement: what went through, and the CPU time it took. */
export interface SaturatedRound extends Saturation {
  /** Seconds of CPU of the process under test; NaN where unknown. */
  readonly cpu: number
}

/** Saturates a subject once. */
export async function saturateOnce(
  rig: Rig,
  subject: Subject,
  plan: Omit<SaturatePlan, 'port'>,
): Promise<SaturatedRound> {
  const before = subject.pid === undefined ? Number.NaN : cpuSeconds(subject.pid)
  const result = await rig.clients.saturate({ ...plan, port: subject.port })
  const after = subject.pid === undefined ? Number.NaN : cpuSeconds(subject.pid)
  return { ...result, cpu: after - before }
}

/** Measures every subject in turn, again and again, so that whatever else the machine does falls on all of them alike. */
export async function inTurn<Result>(
  rounds: number,
  subjects: readonly Subject[],
  measure: (subject: Subject) => Promise<Result>,
): Promise<Map<string, Result[]>> {
  const results = new Map<string, Result[]>(subjects.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const subject of subjects) results.get(subject.name)?.push(await measure(subject))
  }
  return results
}

/** The median over rounds of `of(round) ÷ of(the same round of the other)`. */
export function ratioOf<Result>(
  mine: readonly Result[],
  other: readonly Result[],
  of: (result: Result) => number,
): number {
  return median(mine.map((each, round) => of(each) / of(other[round] as Result)))
}

/** The median over rounds of `of(round) − of(the same round of the other)`. */
export function addedOver<Result>(
  mine: readonly Result[],
  other: readonly Result[],
  of: (result: Result) => number,
): number {
  return median(mine.map((each, round) => of(each) - of(other[round] as Result)))
}

// On a busy machine V8 takes its time: a subject is warm once its calls have not got cheaper twice in a row.
const mostSpells = 8
const spellsAlike = 2

/** What a subject is warmed with. */
export interface WarmLoad {
  readonly bodyBytes: number
  readonly stream?: boolean
  /** Default 64. */
  readonly connections?: number
}

/** Load before anything is measured, until the CPU time of a call has twice not fallen by more than a twentieth. */
export async function warm(rig: Rig, subject: Subject, load: WarmLoad): Promise<void> {
  const forMs = rig.options.durations.warmMs
  let least = Number.POSITIVE_INFINITY
  let alike = 0
  for (let spell = 0; spell < mostSpells; spell++) {
    const plan = {
      ...callsTo(subject, load.bodyBytes),
      stream: load.stream ?? false,
      connections: load.connections ?? 64,
      forMs,
    }
    const { cpu, calls } = await saturateOnce(rig, subject, plan)
    alike = cpu / calls > 0.95 * least ? alike + 1 : 0
    if (alike === spellsAlike) return
    least = Math.min(least, cpu / calls)
  }
}
