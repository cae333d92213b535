import { percentile } from './figures.ts'
import { type CallPlan, createRequests, openWire } from './wire-client.ts'

/** Calls in a closed loop: each connection asks again as soon as it has its answer. */
export interface LoadPlan extends CallPlan {
  readonly connections: number
  /** Calls in all; it ends at the first of both bounds. */
  readonly calls: number
  readonly forMs: number
  /** Calls at the beginning whose times do not count. */
  readonly skip?: number
}

/** What the load came to. Times in milliseconds. */
export interface LoadResult {
  readonly calls: number
  readonly seconds: number
  readonly p50: number
  readonly p99: number
  /** Answers other than 200, and connections that broke. */
  readonly failed: number
}

async function load(plan: LoadPlan): Promise<LoadResult> {
  const next = createRequests(plan)
  const times: number[] = []
  let begun = 0
  let failed = 0
  const start = performance.now()
  const more = (): boolean => begun < plan.calls && performance.now() - start < plan.forMs
  const loop = async (): Promise<void> => {
    let wire = await openWire(plan.port)
    while (more()) {
      begun++
      const asked = performance.now()
      const answer = await wire.ask(next()).catch(() => ({ status: 0, closes: true }))
      if (answer.status === 200) times.push(performance.now() - asked)
      else failed++
      if (!answer.closes) continue
      wire.close()
      if (more()) wire = await openWire(plan.port)
    }
    wire.close()
  }
  await Promise.all(Array.from({ length: plan.connections }, loop))
  const counted = times.slice(plan.skip ?? 0)
  return {
    calls: times.length,
    seconds: (performance.now() - start) / 1000,
    p50: percentile(counted, 0.5),
    p99: percentile(counted, 0.99),
    failed,
  }
}

console.log(`result ${JSON.stringify(await load(JSON.parse(process.argv[2] ?? '{}') as LoadPlan))}`)
