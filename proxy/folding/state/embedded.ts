import type { Log } from '../../../plugins/host.ts'
import type { Memory, Script } from '../../../plugins/store.ts'
import { createOwnCounters } from './counting.ts'
import { missingTrips, type StageDocument, type Trips } from './document.ts'
import { createKept, type Kept } from './kept.ts'
import { createKnowledge, type Knowledge } from './knowledge.ts'
import { historyScript, type Recorded, recordsFromReply } from './log.ts'
import type { Replica } from './replica.ts'
import { recordOfTrip, tripsFromRequest, wordsOfNote, wordsOfTransition } from './requests.ts'
import { documentFromText, leadScript, noteScript, stateKeys, transitionScript, tripScript } from './scripts.ts'
import type { Leading, NoteResult, RolloutState, Transition, TransitionResult } from './state.ts'
import { processTimers, type Timers } from './timers.ts'

/** What the state of a single process is made of. */
export interface EmbeddedStateParts {
  readonly replica: Replica
  readonly log: Log
  /** The file that it outlives the process in, its owner's only; without one a restart forgets everything, trips too. */
  readonly path?: string
  readonly timers?: Timers
}

/**
 * Makes the state of a process that has no replicas: it always leads. A change is written down before it holds; a trip holds whether it
 * can be written down or not. A file that cannot be read is said in the log, and a person has to look before anything is promoted.
 */
export function createEmbeddedState({ replica, log, path, timers = processTimers }: EmbeddedStateParts): RolloutState {
  const durable = [stateKeys.state, stateKeys.log, stateKeys.fence]
  const room: Room = {
    replica,
    knowledge: createKnowledge(),
    kept: createKept({ timers, log, durable, ...(path === undefined ? {} : { path }) }),
    fence: undefined,
  }
  const { knowledge, kept } = room
  knowledge.adopt(storedIn(room) ?? knowledge.known)
  const own = createOwnCounters()
  return {
    get known() {
      return knowledge.known
    },
    onChange: knowledge.onChange,
    transition: async (change) => transition(room, change),
    async note(change) {
      const reply = run(room, noteScript, [[stateKeys.state, stateKeys.log], wordsOfNote(change, replica.id)])
      take(room, reply)
      return reply.length === 0 ? 'unavailable' : (reply[0] as NoteResult)
    },
    async trip(request) {
      const trips = tripsFromRequest(request, replica.id, timers.now())
      knowledge.trip(trips)
      tell(room, trips, recordOfTrip(request, replica.id))
      return { confirmed: 1, of: 1, missing: [] }
    },
    publish: own.set,
    async collect(rolloutId, stage) {
      const counters = own.get(rolloutId, stage)
      return counters ? [{ replica: replica.id, boot: replica.boot, counters }] : []
    },
    lead: () => lead(room),
    condition: 'up',
    replicas: () => [{ name: replica.id, agrees: true }],
    async history(limit) {
      return recordsFromReply(historyScript.local(kept.memory, [stateKeys.log], [String(limit)]))
    },
    close: async () => {},
  }
}

interface Room {
  readonly replica: Replica
  readonly knowledge: Knowledge
  readonly kept: Kept
  fence: number | undefined
}

function transition(room: Room, change: Transition): TransitionResult {
  // A trip that could not be written down when it came.
  const missing = missingTrips(room.knowledge.known.tripped, storedIn(room)?.tripped ?? {})
  tell(room, missing, {
    by: { actor: 'foldgate', reason: 'could not be written down before' },
    replica: room.replica.id,
  })
  const words = wordsOfTransition(change, room.knowledge.known, room.replica.id)
  const reply = run(room, transitionScript, [[stateKeys.state, stateKeys.log, stateKeys.fence], words])
  take(room, reply)
  return reply.length === 0 ? 'unavailable' : (reply[0] as TransitionResult)
}

/** Each run has a fence of its own. A process that cannot write down anything does not lead. */
function lead(room: Room): Leading | undefined {
  const words = [room.replica.boot, '0', '0']
  room.fence ??= run(room, leadScript, [[stateKeys.lease, stateKeys.fence], words])[0] as number | undefined
  return room.fence === undefined ? undefined : { fence: room.fence }
}

function tell(room: Room, trips: Trips, record: Recorded): void {
  if (Object.keys(trips).length === 0) return
  take(
    room,
    run(room, tripScript, [
      [stateKeys.state, stateKeys.log],
      [JSON.stringify(trips), JSON.stringify(record)],
    ]),
  )
}

const storedIn = ({ kept }: Room): StageDocument | undefined => documentFromText(kept.memory.get(stateKeys.state))

/** Runs a script here; what it returned, or nothing where it could not be written down. */
function run(room: Room, script: Script, [keys, words]: [string[], string[]]): readonly (number | string)[] {
  let reply: readonly (number | string)[] = []
  const done = room.kept.change((memory: Memory) => {
    reply = script.local(memory, keys, words)
  })
  return done ? reply : []
}

function take({ knowledge }: Room, [, text]: readonly (number | string)[]): void {
  const document = documentFromText(text === undefined ? undefined : String(text))
  if (document) knowledge.adopt(document)
}
