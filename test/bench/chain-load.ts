import { join } from 'node:path'
import { startProcess } from '../support/processes.ts'
import type { OpenLoad, OpenResult } from './chain-client.ts'
import { cpuSeconds } from './machine.ts'
import { callsTo, type Subject } from './measure.ts'
import type { Rig } from './rig.ts'

/** A subject with all its processes. */
export interface ChainSubject extends Subject {
  /** None where CPU time says nothing. */
  readonly pids: readonly number[]
}

/** What one measurement of one subject came to. */
export interface ChainRound extends OpenResult {
  /** Milliseconds of CPU of its processes for each call; NaN where it has none. Redis is not in it. */
  readonly cpuMs: number
}

/** Rounds by the name of the subject. */
export type ChainRounds = ReadonlyMap<string, readonly ChainRound[]>

// 1,200 words and stops of plain English, with the JSON around them: a token each, in the vocabularies of today's models.
const bodyBytes = 6550

/** One measurement at a fixed rate, in calls a second. Rounds with the same seed have the same arrivals. */
export async function measureAtRate(
  subject: ChainSubject,
  { rate, forMs, seed }: { rate: number; forMs: number; seed: number },
): Promise<ChainRound> {
  const cpu = (): number => subject.pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0)
  const calls = Math.round((forMs / 1000) * rate)
  const before = cpu()
  const result = await openLoad({
    ...callsTo(subject, bodyBytes),
    rate,
    calls,
    seed,
    connections: 40,
    patienceMs: 15_000,
  })
  return { ...result, cpuMs: subject.pids.length === 0 ? Number.NaN : ((cpu() - before) * 1000) / calls }
}

async function openLoad(plan: OpenLoad): Promise<OpenResult> {
  const args = [join(import.meta.dirname, 'chain-client.ts'), JSON.stringify(plan)]
  await using client = await startProcess({ args })
  const [, found = '{}'] = await client.shows(/^result (.*)$/m, 600_000)
  await client.exit
  return JSON.parse(found) as OpenResult
}

/** It takes some ten thousand calls until V8 has compiled everything that a call runs through; as much longer than other suites may take. */
const warmTimes = 8

/** A closed loop until the code is compiled: at the rate of the measurement that would take minutes. */
export async function warmChain(rig: Rig, subject: ChainSubject, connections = 8): Promise<void> {
  const { calls, warmMs } = rig.options.durations
  await rig.clients.load({ ...callsTo(subject, bodyBytes), connections, calls: calls * 4, forMs: warmMs * warmTimes })
}
