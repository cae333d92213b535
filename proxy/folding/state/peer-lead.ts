import { isOut, latchedLayers } from './document.ts'
import { movedTo, notedIn, refusalOf } from './judge.ts'
import { actingShare } from './lease.ts'
import type { Recorded } from './log.ts'
import type { BareDocument, PeerAnswer, PeerMessage, Pending } from './peer-messages.ts'
import { bare, goneMs, hearsMost, learn, majorityOf, type PeerRoom } from './peer-room.ts'
import { against, answerOf, take, tellAll } from './peer-tell.ts'
import type { Replica } from './replica.ts'
import { recordOfTransition } from './requests.ts'
import type { Leading, NoteRequest, NoteResult, Transition, TransitionResult } from './state.ts'

/** Whether this replica leads now: most made it the leader, nobody else since, and most were heard a moment ago. */
export function leads(room: PeerRoom): Leading | undefined {
  const { leading, ballot } = room
  if (!leading || ballot.promised.fence !== leading.fence) return undefined
  return hearsMost(room, goneMs(room) * actingShare) ? leading : undefined
}

/** The replica that should lead as seen from here: the first by name of those that are alive. */
export function isNext(room: PeerRoom): boolean {
  return room.roster.alive(goneMs(room)).every((id) => room.replica.id < id)
}

/** Has most let this replica lead, and finishes what the leader before it may have begun. Never throws. */
export async function claim(room: PeerRoom): Promise<void> {
  const { ballot, replica } = room
  room.leading = undefined
  const fence = Math.max(room.highest, ballot.promised.fence) + 1
  room.highest = fence
  if (!ballot.promise(fence, replica.id)) return
  const answers = await askAll(room, { kind: 'claim', fence })
  for (const answer of answers) take(room, answer)
  const granted = answers.filter(({ ok }) => ok)
  if (granted.length + 1 < majorityOf(room)) return
  const left = leftOver(room, granted)
  if (left && (await decide(room, { fence, document: left })) !== 'done') return
  if (ballot.promised.fence === fence) room.leading = { fence }
  // With it, everybody hears that whatever else was pending is void.
  ballot.settle(bare(room.knowledge.known), fence)
}

/** What was accepted by so many that it may have been decided, counting those that did not answer; else it was not, and never will be. */
function leftOver(room: PeerRoom, granted: readonly PeerAnswer[]): BareDocument | undefined {
  const { ballot, knowledge, roster } = room
  const pending = [ballot.pending, ...granted.map((answer) => answer.pending)].filter(
    (each): each is Pending => each !== undefined && each.document.rev > knowledge.known.rev,
  )
  const highest = pending.reduce<Pending | undefined>((a, b) => (a && a.fence >= b.fence ? a : b), undefined)
  if (!highest) return undefined
  const accepted = pending.filter(({ fence }) => fence === highest.fence).length
  const silent = roster.size() - 1 - granted.length
  if (accepted + silent < majorityOf(room)) return undefined
  // What was taken back meanwhile would be refused, and is the same with the latch in force.
  const { document } = highest
  return { ...document, layers: latchedLayers(document.layers, knowledge.known.tripped) }
}

/** Moves layers, if most agree. Never throws. */
export function transition(room: PeerRoom, change: Transition): Promise<TransitionResult> {
  const result = room.busy.then(() => attempt(room, change))
  room.busy = result
  return result
}

/** Notes something, if this replica leads and most agree. Never throws. */
export async function noted(room: PeerRoom, { notes, keeps = false, by, told }: NoteRequest): Promise<NoteResult> {
  const { known } = room.knowledge
  const next = notedIn(known, notes, keeps)
  if (next === known) return 'known'
  const fence = leads(room)?.fence
  if (fence === undefined) return 'fenced'
  // Those that stay are not named again.
  const fresh = Object.fromEntries(Object.entries(notes).filter(([name, text]) => (next.notes?.[name] ?? '') === text))
  const change = { expectedRev: known.rev, fence, layers: known.layers, by, notes: fresh, ...(told ? { told } : {}) }
  const result = await transition(room, change)
  return result === 'tripped' || result === 'second-layer' ? 'stale' : result
}

async function attempt(room: PeerRoom, change: Transition): Promise<TransitionResult> {
  const fence = leads(room)?.fence
  if (fence === undefined) return 'fenced'
  const refused = refusalOf(room.knowledge.known, fence, change)
  if (refused) return refused
  const document = bare(movedTo(room.knowledge.known, change, Math.floor(room.timers.now())))
  const outcome = await decide(room, { fence, document }, recordOfTransition(change, room.replica.id))
  if (outcome === 'done') return 'done'
  // Where nobody knows whether it was decided, the next claim finds out.
  room.leading = undefined
  if (refusalOf(room.knowledge.known, fence, change) === 'tripped') return 'tripped'
  return outcome === 'fenced' ? 'fenced' : 'unavailable'
}

/** Has most accept a state, and then holds it for decided. `fenced`: most follow another by now, so that it never will be. */
async function decide(room: PeerRoom, pending: Pending, said?: Recorded): Promise<'done' | 'fenced' | 'unknown'> {
  const { ballot, replica } = room
  if (!ballot.accept(pending, replica.id)) return 'fenced'
  const answers = await askAll(room, { kind: 'propose', ...pending })
  for (const answer of answers) take(room, answer)
  if (answers.filter(({ ok }) => ok).length + 1 < majorityOf(room)) {
    return answers.filter(({ fence }) => fence > pending.fence).length >= majorityOf(room) ? 'fenced' : 'unknown'
  }
  learn(room, { document: pending.document, ...(said ? { said } : {}) })
  ballot.settle(pending.document)
  void tellAll(room)
  return 'done'
}

async function askAll({ roster, courier }: PeerRoom, message: PeerMessage): Promise<PeerAnswer[]> {
  const asked = roster.addresses().map(async (address) => {
    const { from, answer } = await courier.ask(address, message)
    roster.heard(from, address)
    return [from.id, answer] as const
  })
  const answers = (await Promise.allSettled(asked)).flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  // One voice for each replica, whatever addresses it has.
  return [...new Map(answers).values()]
}

/** Another replica wants to lead: it may, unless one that goes before it is alive; the answer. */
export function claimed(room: PeerRoom, from: Replica, { fence }: { fence: number }): PeerAnswer {
  const { ballot, roster, replica } = room
  room.highest = Math.max(room.highest, fence)
  const before = [replica.id, ...roster.alive(goneMs(room))].some((id) => id < from.id)
  const ok = !before && ballot.promise(fence, from.id)
  const { pending } = ballot
  return { ...answerOf(room, ok, -1), ...(pending ? { pending } : {}) }
}

/** The leader wants a state to be the next; the answer. */
export function proposed(room: PeerRoom, from: Replica, pending: Pending): PeerAnswer {
  const { document } = pending
  const out = Object.values(document.layers).filter(isOut)
  const trips = against(
    room,
    out.map(({ rolloutId }) => rolloutId),
  )
  if (Object.keys(trips).length > 0) return { ...answerOf(room, false, document.rev), trips }
  const ok = document.rev > room.knowledge.known.rev && room.ballot.accept(pending, from.id)
  return answerOf(room, ok, document.rev)
}
