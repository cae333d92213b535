import { sha256 } from '../../../plugins/canonical.ts'
import type { OwnCount } from './counting.ts'
import { missingTrips, type Trips } from './document.ts'
import type { PeerAnswer, PeerMessage } from './peer-messages.ts'
import { bare, count, goneMs, hearsMost, learn, type PeerRoom, type Told } from './peer-room.ts'
import type { Replica } from './replica.ts'
import type { TripOutcome } from './state.ts'

// The admin port takes 64 KiB, and base64 makes three bytes four.
const mostBytes = 44_000
const mostTrips = 16

/** Tells the replica at an address what it may not know yet. Never throws; false when it did not answer. */
export async function tell(room: PeerRoom, address: string): Promise<boolean> {
  const { told, roster, timers, contact, courier, knowledge } = room
  const so = told.get(address)
  const trips = tripsFor(room, so)
  const { known } = knowledge
  const document = so === undefined || so.rev < known.rev ? bare(known) : undefined
  const counts = countsFor(room, so, mostBytes - sizeOf({ trips, document }))
  const asked = timers.elapsed()
  try {
    const message: PeerMessage = {
      kind: 'tell',
      rev: known.rev,
      trips,
      digest: digestOf(known.tripped),
      counts,
      ...(document ? { document } : {}),
      ...(room.leading ? { settled: room.leading.fence } : {}),
    }
    const { from, answer } = await courier.ask(address, message)
    roster.heard(from, address)
    if (from.id === room.replica.id) return true
    take(room, answer)
    const now = so?.boot === from.boot ? so : { boot: from.boot, trips: new Set<string>(), counts: new Map(), rev: 0 }
    if (answer.ok) confirm(now, trips, counts)
    now.rev = answer.rev
    told.set(address, now)
    if (hearsMost(room, goneMs(room))) contact.answered(timers.elapsed() - asked)
    return true
  } catch {
    return false
  }
}

function confirm(told: Told, trips: Trips, counts: readonly OwnCount[]): void {
  for (const id of Object.keys(trips)) told.trips.add(id)
  for (const each of counts) told.counts.set(keyOf(each), each)
}

/** Takes over what an answer says. */
export function take(room: PeerRoom, answer: PeerAnswer): void {
  room.highest = Math.max(room.highest, answer.fence)
  learn(room, { ...(answer.trips ? { trips: answer.trips } : {}) })
  if (answer.document) decided(room, answer)
}

function decided(room: PeerRoom, { document }: Pick<PeerAnswer, 'document'>): void {
  if (!document) return
  learn(room, { document })
  room.ballot.settle(document)
}

function tripsFor({ knowledge }: PeerRoom, told: Told | undefined): Trips {
  const unsaid = Object.entries(knowledge.known.tripped).filter(([id]) => !told?.trips.has(id))
  return Object.fromEntries(unsaid.sort(([, a], [, b]) => b.at - a.at).slice(0, mostTrips))
}

/** The counters that changed since they were told, as many as there is room for; the rest goes with the next message. */
function countsFor(room: PeerRoom, told: Told | undefined, space: number): OwnCount[] {
  const counts: OwnCount[] = []
  let left = space
  for (const each of room.own.all()) {
    if (told?.counts.get(keyOf(each)) === each) continue
    const bytes = sizeOf(each)
    if (bytes > mostBytes - 10_000) tooLarge(room, each, bytes)
    else if (bytes <= left) {
      counts.push(each)
      left -= bytes
    }
  }
  return counts
}

function tooLarge(room: PeerRoom, { rolloutId, stage }: OwnCount, bytes: number): void {
  if (room.saidTooLarge) return
  room.saidTooLarge = true
  room.log.error({ rolloutId, stage, bytes }, 'the counters of a stage are too large to be told to other replicas')
}

const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

const keyOf = ({ rolloutId, stage }: OwnCount): string => `${rolloutId}\n${stage}`

/** Tells everybody at once. Never throws. */
export async function tellAll(room: PeerRoom): Promise<void> {
  await Promise.all(room.roster.addresses().map((address) => tell(room, address)))
}

/** Tells everybody, again and again for one and a half rounds, until all that are still in DNS have a trip; what it came to. */
export async function spread(room: PeerRoom, rolloutId: string): Promise<TripOutcome> {
  const end = room.timers.elapsed() + room.pollMs * 1.5
  const has = (address: string): boolean => room.told.get(address)?.trips.has(rolloutId) ?? false
  for (;;) {
    const waiting = room.roster.addresses().filter((address) => !has(address))
    await Promise.all(waiting.map((address) => tell(room, address)))
    const others = room.roster.addresses()
    const missing = others.filter((address) => !has(address))
    if (missing.length === 0 || room.timers.elapsed() >= end) {
      const names = missing.map((address) => room.roster.at(address)?.id ?? address)
      return { confirmed: others.length + 1 - missing.length, of: others.length + 1, missing: names }
    }
    await new Promise<void>((done) => room.timers.after(room.pollMs / 10, done))
  }
}

/** Takes in what another replica tells; the answer. */
export function told(room: PeerRoom, from: Replica, message: PeerMessage & { kind: 'tell' }): PeerAnswer {
  const { knowledge, ballot } = room
  learn(room, { trips: message.trips, ...(message.document ? { document: message.document } : {}) })
  ballot.settle(bare(knowledge.known), message.settled)
  for (const each of message.counts) count(room, from, each)
  // What the other cannot be told it can still ask for: a way may be open in one direction only.
  const more = digestOf(knowledge.known.tripped) === message.digest ? {} : { trips: tripsFor(room, undefined) }
  return { ...answerOf(room, true, message.rev), ...more }
}

function digestOf(trips: Trips): string {
  return sha256(Object.keys(trips).sort().join(' '))
}

/** An answer; with this replica's state, where the asker's is older. */
export function answerOf(room: PeerRoom, ok: boolean, rev: number): PeerAnswer {
  const { known } = room.knowledge
  const fence = room.ballot.promised.fence
  return { ok, rev: known.rev, fence, ...(rev < known.rev ? { document: bare(known) } : {}) }
}

/** The trips that stand against a state, of those known here. */
export function against({ knowledge }: PeerRoom, rollouts: readonly string[]): Trips {
  const { tripped } = knowledge.known
  const free = Object.fromEntries(Object.entries(tripped).filter(([id]) => !rollouts.includes(id)))
  return missingTrips(tripped, free)
}
