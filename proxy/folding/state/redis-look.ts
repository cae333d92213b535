import type { RedisLine } from '../../../config/store/redis-line.ts'
import type { Log } from '../../../plugins/host.ts'
import { type Contact, createContact } from './contact.ts'
import { countersTtlMs, createOwnCounters, fieldOf, type OwnCounters, publishScript } from './counting.ts'
import { aliveMs, type Glance, glanceAt, type Sighting } from './glance.ts'
import { createKnowledge, type Knowledge } from './knowledge.ts'
import { createLease, type Lease } from './lease.ts'
import { reconcile } from './repair.ts'
import type { Replica } from './replica.ts'
import { changedChannel, stateKeys } from './scripts.ts'
import { processTimers, type Repeating, type Timers } from './timers.ts'

/** What the state over Redis is made of. */
export interface RedisStateParts {
  /** Closed with the state. */
  readonly line: RedisLine
  readonly replica: Replica
  readonly log: Log
  /** Replicas of Redis that must have a change, or a leader's lease, for it to count; 0 (the default) for a single server. */
  readonly replicas?: number
  readonly timers?: Timers
  /** Between looks, in milliseconds; default 1,000. */
  readonly pollMs?: number
  /** Default 10,000. It is renewed every 30 % of it, and acted on for 60 %. */
  readonly leaseMs?: number
}

/** The parts in use, and what was seen so far. */
export interface RedisRoom extends Required<RedisStateParts> {
  readonly knowledge: Knowledge
  readonly contact: Contact
  readonly lease: Lease
  readonly own: OwnCounters
  sighted: readonly Sighting[]
  /** The fence with which everybody had time to say what they know, and nobody knows more than this replica. */
  settled: number
  listening: boolean
  rounds: number
  /** The failures in a row were logged. */
  told: boolean
  /** That no replica of Redis confirms was logged. */
  warned: boolean
}

/** Makes a {@link RedisRoom}; nothing is asked yet. */
export function createRedisRoom(parts: RedisStateParts): RedisRoom {
  const { line, replica, timers = processTimers, pollMs = 1_000, leaseMs = 10_000, replicas = 0 } = parts
  return {
    ...parts,
    timers,
    pollMs,
    leaseMs,
    replicas,
    knowledge: createKnowledge(),
    contact: createContact(timers, 3 * pollMs + 1_000),
    lease: createLease({ line, timers, holder: fieldOf(replica), leaseMs, replicas }),
    own: createOwnCounters(),
    sighted: [],
    settled: 0,
    listening: false,
    rounds: 0,
    told: false,
    warned: false,
  }
}

// Each look that learns something is followed by one that says so.
const mostLooks = 4

/** Looks at the store, repairs what it lost, and looks again as long as that was news. Never throws. */
export async function look(room: RedisRoom): Promise<void> {
  const { timers, contact, knowledge } = room
  try {
    for (let looks = 0; looks < mostLooks; looks++) {
      const before = knowledge.known
      const asked = timers.elapsed()
      const glance = await glanceAt(room.line, room.replica, before)
      contact.answered(timers.elapsed() - asked)
      room.lease.see(glance.fence)
      room.sighted = glance.replicas
      await reconcile({ ...room, replica: room.replica.id }, glance.stored)
      if (glance.isFirst) room.own.retell()
      settle(room, glance)
      if (knowledge.known === before) break
    }
    room.told = false
  } catch (reason) {
    contact.failed()
    note(room, reason)
  }
}

/** A leader acts only after two rounds in which others could say that they know of more than the store does. */
function settle(room: RedisRoom, { replicas }: Glance): void {
  const { lease, knowledge, pollMs } = room
  const ahead = replicas.some(({ rev, agoMs }) => agoMs <= aliveMs(pollMs) && rev > knowledge.known.rev)
  const fence = lease.held()?.fence
  if (fence !== undefined && !ahead && lease.heldForMs() >= 2 * pollMs) room.settled = fence
}

function note(room: RedisRoom, reason: unknown): void {
  if (room.told) return
  room.told = true
  const said = reason instanceof Error ? reason.message.slice(0, 200) : 'unknown'
  room.log.error({ reason: said }, 'the stages cannot be looked up; they stay as last known')
}

// Once a minute, in case the store lost counters that have not changed since.
const roundsBetweenRetelling = 60

/** One round: looks, tells this replica's counters, and listens again if that broke. Never throws. */
export async function round(room: RedisRoom, looking: () => Repeating): Promise<void> {
  await look(room)
  room.rounds++
  if (room.rounds % roundsBetweenRetelling === 0) room.own.retell()
  await flush(room)
  void listen(room, looking)
}

/** Tells this replica's counters that have changed. Never throws. */
export async function flush({ own, line, replica }: RedisRoom): Promise<void> {
  const counts = own.take()
  const told = await Promise.allSettled(
    counts.map(({ rolloutId, stage, counters, seq }) => {
      const args = [fieldOf(replica), JSON.stringify(counters), seq, countersTtlMs]
      return line.run(publishScript, [stateKeys.counters(rolloutId, stage)], args)
    }),
  )
  own.giveBack(counts.filter((_, index) => told[index]?.status === 'rejected'))
}

/** Hears that something changed, and looks. Only a hint: without it the next round sees the same. Never throws. */
export async function listen(room: RedisRoom, looking: () => Repeating): Promise<void> {
  if (room.listening || !room.line.up()) return
  room.listening = true
  const ended = (): void => {
    room.listening = false
  }
  await room.line.listen(changedChannel, () => void looking().now(), ended).catch(ended)
}
