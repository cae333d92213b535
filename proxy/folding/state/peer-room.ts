import type { Log } from '../../../plugins/host.ts'
import { type Contact, createContact } from './contact.ts'
import { createOwnCounters, fieldOf, type OwnCount, type OwnCounters } from './counting.ts'
import { changesBetween, type StageDocument, type Trips } from './document.ts'
import { createKept, type Kept } from './kept.ts'
import { createKnowledge, type Knowledge } from './knowledge.ts'
import { appended, type Recorded } from './log.ts'
import { type Ballot, ballotKeys, createBallot } from './peer-ballot.ts'
import { type Courier, createCourier, type Send } from './peer-courier.ts'
import type { BareDocument } from './peer-messages.ts'
import { createRoster, type Resolve, type Roster } from './peer-roster.ts'
import { createPeerSeal, type PeerKeys } from './peer-seal.ts'
import type { Replica } from './replica.ts'
import { documentFromText, stateKeys } from './scripts.ts'
import type { Counted, Leading, StageChangeRecord } from './state.ts'
import { switchBetween } from './switches.ts'
import { processTimers, type Timers } from './timers.ts'

/** What the state of replicas among themselves is made of. */
export interface PeerStateParts {
  readonly replica: Replica
  /** The other replicas, `host` or `host:port`; or one name with the addresses of all. This replica may be among them. */
  readonly peers: readonly string[]
  /** Where a peer without a port listens: the admin port. */
  readonly port: number
  readonly keys: PeerKeys
  readonly send: Send
  readonly log: Log
  readonly resolve?: Resolve
  /** The file in which this replica remembers what it promised and what was taken back; without one a restart forgets both. */
  readonly path?: string
  readonly timers?: Timers
  /** Between rounds, in milliseconds; default 1,000. A replica that was not heard for five rounds is taken for gone. */
  readonly pollMs?: number
}

/** What this replica has told the one at an address. */
export interface Told {
  readonly boot: string
  readonly trips: Set<string>
  readonly counts: Map<string, OwnCount>
  rev: number
}

/** The parts in use, and where things stand. */
export interface PeerRoom {
  readonly replica: Replica
  readonly log: Log
  readonly timers: Timers
  readonly pollMs: number
  readonly roster: Roster
  readonly courier: Courier
  readonly kept: Kept
  readonly ballot: Ballot
  readonly knowledge: Knowledge
  readonly contact: Contact
  readonly own: OwnCounters
  /** The counters of all, by rollout and stage, then by process. */
  readonly counted: Map<string, Map<string, Counted & Pick<OwnCount, 'seq'>>>
  readonly told: Map<string, Told>
  /** With which fence most let this replica lead. */
  leading: Leading | undefined
  /** The highest fence that was heard of. */
  highest: number
  saidTooLarge: boolean
  /** Transitions run one after another. */
  busy: Promise<unknown>
}

/** Makes a {@link PeerRoom}, from the file if there is one; nobody is asked yet. */
export function createPeerRoom(parts: PeerStateParts): PeerRoom {
  const { replica, log, timers = processTimers, pollMs = 1_000 } = parts
  const durable = [stateKeys.state, stateKeys.log, ballotKeys.promised, ballotKeys.pending]
  const kept = createKept({ timers, log, durable, ...(parts.path === undefined ? {} : { path: parts.path }) })
  const ballot = createBallot(kept)
  return {
    replica,
    log,
    timers,
    pollMs,
    kept,
    ballot,
    roster: createRoster({ ...parts, self: replica, timers }),
    courier: createCourier({
      seal: createPeerSeal(parts.keys, replica, () => timers.now()),
      send: parts.send,
      timers,
      timeoutMs: pollMs,
    }),
    knowledge: createKnowledge(documentFromText(kept.memory.get(stateKeys.state))),
    contact: createContact(timers, goneMs({ pollMs })),
    own: createOwnCounters(),
    counted: new Map(),
    told: new Map(),
    leading: undefined,
    highest: ballot.promised.fence,
    saidTooLarge: false,
    busy: Promise.resolve(),
  }
}

/** A replica that was not heard for so long is taken for gone, in milliseconds. */
export function goneMs({ pollMs }: Pick<PeerRoom, 'pollMs'>): number {
  return 5 * pollMs
}

/** How many replicas are most of them. */
export function majorityOf({ roster }: Pick<PeerRoom, 'roster'>): number {
  return Math.floor(roster.size() / 2) + 1
}

/** Whether most replicas, this one included, were heard within so many milliseconds. */
export function hearsMost(room: Pick<PeerRoom, 'roster'>, withinMs: number): boolean {
  return room.roster.alive(withinMs).length + 1 >= majorityOf(room)
}

/** A state as it travels. */
export function bare({ tripped: _, ...document }: StageDocument): BareDocument {
  return document
}

/** Takes over a state that was decided, and trips that were made, and writes down what is new. */
export function learn(room: PeerRoom, news: { document?: BareDocument; trips?: Trips; said?: Recorded }): void {
  const { knowledge, kept, timers } = room
  const before = knowledge.known
  if (news.trips) knowledge.trip(news.trips)
  if (news.document) knowledge.adopt({ ...news.document, tripped: knowledge.known.tripped })
  const { known } = knowledge
  if (known === before) return
  const isTrip = known.rev === before.rev
  const layers = changesBetween(before.layers, known.layers)
  const turned = switchBetween(before.notes, known.notes)
  const by = turned?.by ?? wordsOf(known, news.trips, Object.keys(layers))
  const said = news.said ?? { by, replica: room.replica.id, ...(turned ? { told: turned.told } : {}) }
  kept.change((memory) => {
    memory.set(stateKeys.state, JSON.stringify(known))
    const kind: StageChangeRecord['kind'] = isTrip ? 'trip' : 'transition'
    const texts = { layers: JSON.stringify(layers), record: JSON.stringify(said) }
    memory.set(stateKeys.log, appended(memory.get(stateKeys.log), { at: timers.now(), rev: known.rev, kind, ...texts }))
  })
}

/** Who is said to have made a change that came from another replica. */
function wordsOf({ layers }: StageDocument, trips: Trips | undefined, changed: readonly string[]) {
  const [trip] = Object.values(trips ?? {})
  const { actor, reason } = trip ?? layers[changed[0] ?? ''] ?? { actor: 'another replica', reason: 'as it told' }
  return { actor, reason }
}

// Stages of rollouts: a handful lives at a time.
const mostCounted = 256

/** Takes over counters of a process, unless there are later ones of it. */
export function count({ counted }: PeerRoom, from: Replica, { rolloutId, stage, counters, seq }: OwnCount): void {
  const key = `${rolloutId}\n${stage}`
  const processes = counted.get(key) ?? new Map<string, Counted & Pick<OwnCount, 'seq'>>()
  if ((processes.get(fieldOf(from))?.seq ?? 0) > seq) return
  processes.set(fieldOf(from), { replica: from.id, boot: from.boot, counters, seq })
  counted.delete(key)
  counted.set(key, processes)
  const [oldest] = counted.keys()
  if (counted.size > mostCounted && oldest !== undefined) counted.delete(oldest)
}
