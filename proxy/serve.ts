import type { Call } from '../plugins/call.ts'
import type { Route } from '../plugins/chat.ts'
import type { Reply } from '../plugins/reply.ts'
import { type Seated, through } from '../plugins/stack.ts'
import type { CallRecord } from './call-record.ts'
import type { RunnerClient } from './runner-client.ts'

/** The layers that sit for one route, and whether one of them reads usage. */
export interface Seating {
  readonly seats: readonly Seated[]
  readonly meters: boolean
  /** Members of a request that a seated layer holds answers to by itself. */
  readonly enforces: readonly string[]
}

/** What it takes to serve calls: who sits on each route, and the way to the runners. */
export interface Service {
  readonly seating: Readonly<Record<Route, Seating>>
  readonly runners: RunnerClient
}

/** One call: seats the layers of its route, turns the loop, and hands the rest to the runner. Throws `GatewayError`. */
export async function serve(service: Service, call: Call, record: CallRecord): Promise<Reply> {
  const { seats, meters } = service.seating[call.route]
  const reply = await through(seats, call, {
    inside: (inner) => askRunner(service, inner, record),
    witness: record,
  })
  if (reply.source === 'cache') record.source = 'cache'
  if (!meters || !reply.ok) return reply
  return reply.observe({
    chunk(chunk) {
      if (chunk.usage) record.usage = chunk.usage
    },
  })
}

async function askRunner({ runners, seating }: Service, call: Call, record: CallRecord): Promise<Reply> {
  const start = record.elapsedMs()
  try {
    const { meters: meter, enforces } = seating[call.route]
    const reply = await runners.call(call, { meter, enforces, watch: (place) => record.attempt(place, call) })
    record.source = 'runner'
    return reply
  } finally {
    record.runnerMs += record.elapsedMs() - start
  }
}
