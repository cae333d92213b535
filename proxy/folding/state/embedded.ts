import type { Log } from '../../../plugins/host.ts'
import type { Memory, Script } from '../../../plugins/store.ts'
import { createOwnCounters } from './counting.ts'
import { changesBetween } from './document.ts'
import { createKept, type Kept } from './kept.ts'
import { createKnowledge, type Knowledge } from './knowledge.ts'
import { historyScript, type Recorded, recordsFromReply } from './log.ts'
import type { Replica } from './replica.ts'
import { documentFromText, leadScript, stateKeys, transitionScript, tripScript } from './scripts.ts'
import type { RolloutState, Transition, TransitionResult } from './state.ts'
import { processTimers, type Timers } from './timers.ts'
import { evidenceOf, recordOfTrip, tripsFromRequest } from './trip.ts'

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
  }
  const { knowledge, kept } = room
  // Each run has a fence of its own.
  const [fence = 1] = run(room, leadScript, [
    [stateKeys.lease, stateKeys.fence],
    [replica.boot, '0', '0'],
  ])
  knowledge.adopt(documentFromText(kept.memory.get(stateKeys.state)) ?? knowledge.known)
  const own = createOwnCounters()
  return {
    get known() {
      return knowledge.known
    },
    onChange: knowledge.onChange,
    transition: async (change) => transition(room, change),
    async trip(request) {
      const trips = tripsFromRequest(request, replica.id, timers.now())
      knowledge.trip(trips)
      const words = [JSON.stringify(trips), JSON.stringify(recordOfTrip(request, replica.id))]
      take(room, run(room, tripScript, [[stateKeys.state, stateKeys.log], words]))
      return { confirmed: 1, of: 1, missing: [] }
    },
    publish: own.set,
    async collect(rolloutId, stage) {
      const counters = own.get(rolloutId, stage)
      return counters ? [{ replica: replica.id, boot: replica.boot, counters }] : []
    },
    lead: () => ({ fence: Number(fence) }),
    condition: 'up',
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
}

function transition(room: Room, change: Transition): TransitionResult {
  const changes = changesBetween(room.knowledge.known.layers, change.layers)
  const said: Recorded = { by: change.by, replica: room.replica.id, ...evidenceOf(change) }
  const words = [
    String(change.expectedRev),
    String(change.fence),
    JSON.stringify(change.layers),
    change.hold === undefined ? '0' : '1',
    change.hold ?? '',
    JSON.stringify(changes),
    JSON.stringify(said),
  ]
  const reply = run(room, transitionScript, [[stateKeys.state, stateKeys.log, stateKeys.fence], words])
  take(room, reply)
  return reply.length === 0 ? 'unavailable' : (reply[0] as TransitionResult)
}

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
