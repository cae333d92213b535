import { GatewayError } from '../../../plugins/errors.ts'
import { replicationWaitMs } from './lease.ts'
import type { RedisRoom } from './redis-look.ts'
import { recordOfTrip, tripsFromRequest, wordsOfNote, wordsOfTransition } from './requests.ts'
import { documentFromText, noteScript, stateKeys, transitionScript, tripScript } from './scripts.ts'
import type { NoteRequest, NoteResult, Transition, TransitionResult, TripRequest } from './state.ts'

/** Asks the store for a change. Never throws. */
export async function transition(room: RedisRoom, change: Transition): Promise<TransitionResult> {
  // Whoever does not hold the lease any more by its own clock need not ask.
  if (room.lease.held()?.fence !== change.fence) return 'fenced'
  const words = wordsOfTransition(change, room.knowledge.known, room.replica.id)
  const keys = [stateKeys.state, stateKeys.log, stateKeys.fence]
  const outcome = await write(room, [transitionScript, keys, words])
  return (outcome as TransitionResult | undefined) ?? 'unavailable'
}

/** Asks the store to note something. Never throws. */
export async function note(room: RedisRoom, change: NoteRequest): Promise<NoteResult> {
  const keys = [stateKeys.state, stateKeys.log]
  const outcome = await write(room, [noteScript, keys, wordsOfNote(change, room.replica.id)])
  return (outcome as NoteResult | undefined) ?? 'unavailable'
}

/** Latches a trip here, at once, and tells the store; what it does not take now, the next look tells it again. Never throws. */
export async function trip(room: RedisRoom, request: TripRequest): Promise<void> {
  const trips = tripsFromRequest(request, room.replica.id, room.timers.now())
  room.knowledge.trip(trips)
  const words = [JSON.stringify(trips), JSON.stringify(recordOfTrip(request, room.replica.id))]
  await write(room, [tripScript, [stateKeys.state, stateKeys.log], words])
}

type Run = Parameters<RedisRoom['line']['write']>[0]

/** Runs a script that changes the state, and takes over what it became; its first word, or undefined when the store is away. */
async function write(room: RedisRoom, run: Run): Promise<string | undefined> {
  try {
    const replication = { replicas: Math.max(1, room.replicas), waitMs: replicationWaitMs }
    const { reply, replicated } = await room.line.write(run, replication)
    const [outcome, text] = reply.map(String)
    const document = documentFromText(text)
    if (document) room.knowledge.adopt(document)
    if (outcome === 'done' && replicated === 0) warn(room, document?.rev)
    return outcome
  } catch (reason) {
    if (!(reason instanceof GatewayError))
      room.log.error({ reason: String(reason).slice(0, 200) }, 'the store refused a change of stages')
    return undefined
  }
}

function warn(room: RedisRoom, rev: number | undefined): void {
  // A single server has nobody to confirm; that is said once.
  if (room.replicas === 0 && room.warned) return
  room.warned = true
  room.log.warn({ rev }, 'no replica of the store has confirmed a change of stages; a failover could lose it')
}
