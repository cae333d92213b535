import { once } from 'node:events'
import { setPriority } from 'node:os'
import { Worker } from 'node:worker_threads'
import { instantNow } from './bodies.ts'
import { dueInstants } from './chain-figures.ts'
import { percentile } from './figures.ts'
import { type CallPlan, createRequests, openWire, type Wire } from './wire-client.ts'

/** Calls at a fixed rate, whatever becomes of them: a call that is slow does not hold the next one back. */
export interface OpenLoad extends CallPlan {
  /** Calls a second. */
  readonly rate: number
  readonly calls: number
  /** The same seed makes the same arrivals. */
  readonly seed: number
  /** Connections that are open before the first call; more are opened when none is free. */
  readonly connections: number
  /** How long after the last call was due answers still count. */
  readonly patienceMs: number
}

/** What came of them. */
export interface OpenResult {
  /** From the instant at which a call was due to the end of its answer, in milliseconds, for each answer with status 200. */
  readonly latencies: readonly number[]
  /** Other answers, broken connections, and what had no answer in time. */
  readonly failed: number
  /** How late the client itself sent at its 99th percentile, in milliseconds. It is part of the latencies. */
  readonly lateP99: number
}

async function load(plan: OpenLoad): Promise<OpenResult> {
  const next = createRequests(plan)
  const idle = await Promise.all(Array.from({ length: plan.connections }, () => openWire(plan.port)))
  const due = dueInstants(plan).map((offset) => offset + instantNow() + 100)
  const pacer = new Worker(new URL('./chain-pacer.ts', import.meta.url), { workerData: Float64Array.from(due) })
  const latencies: number[] = []
  const late: number[] = []
  const call = async (index: number): Promise<void> => {
    const instant = due[index] as number
    const free: Wire | undefined = idle.pop()
    const wire = free ?? (await openWire(plan.port))
    late.push(instantNow() - instant)
    const { status, closes } = await wire.ask(next())
    if (status === 200) latencies.push(Math.round((instantNow() - instant) * 1000) / 1000)
    if (closes) wire.close()
    else idle.push(wire)
  }
  const under: Promise<void>[] = []
  pacer.on('message', (index: number) => under.push(call(index).catch(() => {})))
  await once(pacer, 'exit')
  await Promise.race([Promise.all(under), new Promise((done) => setTimeout(done, plan.patienceMs))])
  return { latencies, failed: plan.calls - latencies.length, lateP99: percentile(late, 0.99) }
}

// On a machine whose cores are all in use the client would measure its own waiting. Where it may not, it goes on as it is.
try {
  setPriority(-10)
} catch {}
const result = await load(JSON.parse(process.argv[2] ?? '{}') as OpenLoad)
process.stdout.write(`result ${JSON.stringify(result)}\n`, () => process.exit(0))
