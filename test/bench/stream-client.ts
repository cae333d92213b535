import { setTimeout as sleep } from 'node:timers/promises'
import { instantNow, stampsIn } from './bodies.ts'
import { percentile } from './figures.ts'
import { type CallPlan, createRequests, openWire } from './wire-client.ts'

/** Streams that are read for a time: each connection asks for the next one when the last has ended. */
export interface StreamLoad extends CallPlan {
  readonly streams: number
  readonly forMs: number
}

/** What was seen of the streams. Times in milliseconds. */
export interface StreamResult {
  readonly streams: number
  readonly tokens: number
  /** From the request to the first token. */
  readonly firstP50: number
  readonly firstP99: number
  /** From one token's arrival to the next one's. */
  readonly gapP50: number
  readonly gapP90: number
  readonly gapMost: number
  /** From the upstream's write of a token to its arrival. */
  readonly transitP50: number
  readonly transitP90: number
  readonly transitP99: number
  readonly failed: number
}

const apartMs = 53

interface Seen {
  readonly first: number[]
  readonly gaps: number[]
  readonly transits: number[]
  streams: number
  failed: number
}

async function readStreams(plan: StreamLoad): Promise<StreamResult> {
  const next = createRequests({ ...plan, stream: true })
  const seen: Seen = { first: [], gaps: [], transits: [], streams: 0, failed: 0 }
  const until = instantNow() + plan.forMs
  const loop = async (_: unknown, index: number): Promise<void> => {
    // Few streams do not begin together; many do, as they would after an outage.
    if (plan.streams <= 16) await sleep(index * apartMs)
    let asked = 0
    let last = 0
    const wire = await openWire(plan.port, (bytes) => {
      const now = instantNow()
      stampsIn(bytes, (written) => {
        seen.transits.push(now - written)
        if (last === 0) seen.first.push(now - asked)
        else seen.gaps.push(now - last)
        last = now
      })
    })
    while (instantNow() < until) {
      last = 0
      asked = instantNow()
      const { status } = await wire.ask(next()).catch(() => ({ status: 0 }))
      if (status === 200) seen.streams++
      else seen.failed++
      if (status === 0) return
    }
    wire.close()
  }
  await Promise.all(Array.from({ length: plan.streams }, loop))
  return resultOf(seen)
}

function resultOf({ first, gaps, transits, streams, failed }: Seen): StreamResult {
  return {
    streams,
    failed,
    tokens: transits.length,
    firstP50: percentile(first, 0.5),
    firstP99: percentile(first, 0.99),
    gapP50: percentile(gaps, 0.5),
    gapP90: percentile(gaps, 0.9),
    gapMost: percentile(gaps, 1),
    transitP50: percentile(transits, 0.5),
    transitP90: percentile(transits, 0.9),
    transitP99: percentile(transits, 0.99),
  }
}

console.log(`result ${JSON.stringify(await readStreams(JSON.parse(process.argv[2] ?? '{}') as StreamLoad))}`)
