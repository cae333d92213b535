import { join } from 'node:path'
import { startProcess } from '../support/processes.ts'
import { requestBody } from './bodies.ts'
import type { LoadPlan, LoadResult } from './load-client.ts'
import { isOnPath, pinned } from './machine.ts'
import type { StreamLoad, StreamResult } from './stream-client.ts'
import type { CallPlan } from './wire-client.ts'

/** The load generators, each in a process of its own beside the process under test. */
export interface Clients {
  /** Calls in a closed loop. */
  load(plan: LoadPlan): Promise<LoadResult>
  /** Streams, read token by token. */
  streams(plan: StreamLoad): Promise<StreamResult>
  /** As many calls as go through in a time. */
  saturate(plan: SaturatePlan): Promise<Saturation>
  /** What {@link Clients.saturate} is done with. */
  readonly generator: 'wrk' | 'own client'
}

/** Load on all connections at once, for a time. */
export interface SaturatePlan extends CallPlan {
  readonly connections: number
  readonly forMs: number
}

/** What went through. Times in milliseconds. */
export interface Saturation {
  readonly calls: number
  readonly seconds: number
  readonly p50: number
  readonly p99: number
  readonly failed: number
}

/** What clients are made from: their core, and a directory for the bodies they send. */
export interface ClientParts {
  readonly core: number | undefined
  file(name: string, text: string): string
}

/** Makes the clients. */
export function createClients(parts: ClientParts): Clients {
  const own = async <Result>(script: string, plan: LoadPlan | StreamLoad): Promise<Result> => {
    const command = [process.execPath, join(import.meta.dirname, script), JSON.stringify(plan)]
    return JSON.parse(await outputOf(command, /^result (.*)$/m)) as Result
  }
  const outputOf = async (command: readonly string[], pattern: RegExp): Promise<string> => {
    await using client = await startProcess({ ...pinned(parts.core, command) })
    const [, found = '{}'] = await client.shows(pattern, 600_000)
    await client.exit
    return found
  }
  const wrk = isOnPath('wrk')
  const byWrk = async (plan: SaturatePlan): Promise<Saturation> => {
    const { bodyBytes, stream = false, messages = 1 } = plan
    const body = parts.file(`${bodyBytes}-${messages}-${stream}.json`, requestBody(bodyBytes, { stream, messages }))
    const flags = ['-t1', `-c${plan.connections}`, `-d${Math.ceil(plan.forMs / 1000)}s`, '--timeout', '10s']
    const script = ['-s', join(import.meta.dirname, 'wrk.lua'), `http://127.0.0.1:${plan.port}`]
    const args = ['--', body, plan.token ?? '-', String(plan.first ?? '-')]
    return JSON.parse(await outputOf(['wrk', ...flags, ...script, ...args], /^wrk (.*)$/m)) as Saturation
  }
  return {
    generator: wrk ? 'wrk' : 'own client',
    load: (plan) => own('load-client.ts', plan),
    streams: (plan) => own('stream-client.ts', plan),
    saturate: (plan) => (wrk ? byWrk(plan) : own('load-client.ts', { ...plan, calls: Number.MAX_SAFE_INTEGER })),
  }
}
