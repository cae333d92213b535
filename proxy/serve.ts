import type { Call } from '../plugins/call.ts'
import type { Chunk, Route } from '../plugins/chat.ts'
import { gatewayErrorFrom } from '../plugins/errors.ts'
import type { Reply } from '../plugins/reply.ts'
import { type Seated, through } from '../plugins/stack.ts'
import type { CallRecord } from './call-record.ts'
import { type CallFold, createCallFold, type Draw } from './folding/call-fold.ts'
import { Fallback, fallbackFromError } from './folding/fallback.ts'
import type { Seating } from './folding/folding.ts'
import type { Folds } from './folding/folds.ts'
import type { FoldSeat } from './folding/seats.ts'
import type { CallOptions, RunnerClient } from './runner-client.ts'

/** What it takes to serve calls: who sits on each route, how calls are split with runners, and the way there. */
export interface Service {
  seating(route: Route): Seating
  readonly folds: Folds
  /** What notes to which arm of a rollout a call belongs. */
  drawn(record: CallRecord): Draw
  readonly runners: RunnerClient
}

/** One call: seats the layers of its route, turns the loop, and hands the rest to the runner. Throws `GatewayError`. */
export async function serve(service: Service, call: Call, record: CallRecord): Promise<Reply> {
  const seating = service.seating(call.route)
  if (!seating.folded) return metered(seating, record, await inGateway(service, seating, { call, record }))
  const fold = createCallFold(service.drawn(record))
  record.fold = fold
  try {
    const split: Split = { service, seating, fold, record }
    const reply = await through(seating.seats, call, {
      inside: (inner) => askFolded(split, inner),
      witness: record,
      retake: (reason, inward) => retaken(split, reason, inward),
    })
    const taken = fold.fallbacks.size > 0
    return metered(taken ? { ...seating, meters: true } : seating, record, reply)
  } finally {
    service.folds.tell(call, record)
  }
}

interface Going {
  readonly call: Call
  readonly record: CallRecord
}

function inGateway(service: Service, seating: Seating, { call, record }: Going): Promise<Reply> {
  const options = optionsFor(seating, record, call)
  return through(seating.seats, call, {
    inside: (inner) => askRunner(service, inner, { record, options }),
    witness: record,
  })
}

function metered({ meters }: Seating, record: CallRecord, reply: Reply): Reply {
  if (reply.source === 'cache') record.source = 'cache'
  if (!meters || !reply.ok) return reply
  return reply.observe({
    chunk(chunk) {
      if (chunk.usage) record.usage = chunk.usage
      if (reply.streamed && record.toolCallMs === undefined && callsTool(chunk)) record.toolCallMs = record.elapsedMs()
    },
  })
}

function callsTool({ choices }: Chunk): boolean {
  return choices?.some(({ delta }) => (delta?.tool_calls?.length ?? 0) > 0) ?? false
}

/** A call that is split with the runner. */
interface Split {
  readonly service: Service
  readonly seating: Seating
  readonly fold: CallFold
  readonly record: CallRecord
}

function optionsFor({ meters: meter, enforces }: Seating, record: CallRecord, call: Call): CallOptions {
  return { meter, enforces, directed: record.directed, watch: (place) => record.attempt(place, call) }
}

/**
 * Asks the runner with a context. Layers that only observe there never cost a call: when the runner cannot have them, they are left out.
 * Throws {@link Fallback} when one that decides there could not.
 */
async function askFolded({ service, seating, fold, record }: Split, call: Call): Promise<Reply> {
  const { folds } = service
  const forced = folds.forced(record, fold)
  if (forced) throw forced
  const taken = fold.fallbacks.size > 0
  const base = optionsFor(taken ? { ...seating, meters: true, enforces: ['response_format'] } : seating, record, call)
  for (;;) {
    folds.leaveOut(call, fold, record)
    fold.flight?.started(call.facts.target?.[0]?.runner)
    const options = fold.modes.size > 0 ? { ...base, folding: folds.folding(fold, record) } : base
    try {
      return await askRunner(service, call, { record, options })
    } catch (reason) {
      const fallback = fold.modes.size > 0 ? fallbackFromError(gatewayErrorFrom(reason)) : undefined
      if (!fallback) throw reason
      if (!observersOnly(fold, fallback)) throw fallback
    }
  }
}

/** Drops the observers at fault, and says whether that was all there was to it. */
function observersOnly(fold: CallFold, { layers, mismatch }: Fallback): boolean {
  fold.mismatch ??= mismatch
  const failing = layers.length > 0 ? layers : [...fold.modes.keys()]
  const decides = failing.some((name) => fold.modes.get(name) === 'enforce')
  for (const name of failing) if (fold.modes.get(name) === 'observe') fold.leftOut(name)
  return !decides
}

/** The seats after a fallback, asked anew from the outermost layer that is taken back. */
function retaken({ service, fold }: Split, reason: unknown, inward: readonly Seated[]): readonly Seated[] | undefined {
  if (!(reason instanceof Fallback)) return undefined
  const closure = service.folds.closure(fold, reason)
  const [outermost] = closure
  if (outermost === undefined || inward[0]?.name !== outermost) return undefined
  fold.fellBack(closure, reason)
  return inward.map((seat): FoldSeat => {
    const { draw: _, ...fixed } = seat as FoldSeat
    return closure.includes(seat.name) ? { ...fixed, mode: 'enforce' } : (seat as FoldSeat)
  })
}

interface Asking {
  readonly record: CallRecord
  readonly options: CallOptions
}

async function askRunner({ runners }: Service, call: Call, { record, options }: Asking): Promise<Reply> {
  const start = record.elapsedMs()
  try {
    const reply = await runners.call(call, options)
    record.source = 'runner'
    return reply
  } finally {
    record.runnerMs += record.elapsedMs() - start
  }
}
