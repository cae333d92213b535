import type { Call } from './call.ts'
import { gatewayError, gatewayErrorFrom } from './errors.ts'
import type { LayerReads } from './execution-context-facts.ts'
import type { Acting, Again, Mode } from './layer.ts'
import { observedReply } from './observed-reply.ts'
import type { Reply } from './reply.ts'
import { afterPass, refuse, type Verdict } from './verdict.ts'

/** Where a layer sits for a call, seen from here: it decides here, it only says, or it sits on the other side and is not asked. */
export type Place = Mode | 'away'

/** A layer that has its place in a call: who it is, what it does, and where it sits. */
export interface Seated<At extends Place = Place> {
  readonly name: string
  readonly acting: Acting
  readonly mode: At
  /**
   * Draws where it sits for this very call, in place of `mode`; asked when the loop reaches it. `call` holds what every layer so far has
   * learned, observers too. Undefined: not to be said before the layer itself has spoken; it is asked again then.
   */
  readonly draw?: (call: Call) => Place | undefined
  /** Its refusal stands although it only observes: what the gateway knows to be wrong is never let through. */
  readonly vetoes?: boolean
}

/** Hears every verdict; feeds status headers, metrics, traces and the shadow diff. Must not throw. */
export interface Witness {
  /** Where a layer sits for this call, as it was drawn; told before it decides, or right after where only that could say. */
  placed?(seat: Seated, place: Place, going: Going): void
  /** A layer has answered; `call` is what it was asked. `ms` is how long it took, in milliseconds. */
  heard(seat: Seated<Mode>, verdict: Verdict, ms: number, call: Call): void
  /** A layer has settled a reply. */
  settled?(seat: Seated<Mode>, ms: number): void
  /** A layer is about to be released. */
  ending?(seat: Seated<Mode>, call: Call): void
}

/**
 * Turns the loop: asks the layers in order, runs what is inside, settles in reverse. A refusal or a failure is thrown as
 * `GatewayError`. Every layer that was asked is released exactly once: when the reply has been read to its end or dropped, when
 * the call fails, or when its signal aborts, whichever is first. Observers decide and settle beside the call and change nothing of it.
 */
export function through(seats: readonly Seated[], call: Call, turn: Turn): Promise<Reply> {
  return seats.length === 0 ? turn.inside(call) : turned(seats, { call, seen: call }, turn)
}

async function turned(seats: readonly Seated[], going: Going, turn: Turn): Promise<Reply> {
  const asked: Asked[] = []
  const release = releaseOnce(asked, going.call, turn.witness)
  try {
    const reply = await ask(0, going, { ...turn, seats, asked })
    return reply.observe({ end: release })
  } catch (reason) {
    release()
    throw gatewayErrorFrom(reason)
  }
}

/** What the loop is turned around, and who listens. */
export interface Turn {
  /** What is inside all layers: the runner. */
  readonly inside: (call: Call) => Promise<Reply>
  readonly witness: Witness
  /**
   * How long a layer that only observes may keep a call, in milliseconds; then it counts as refusing with `runner_timeout`, which changes
   * nothing. Not for those that veto. Default: as long as it takes.
   */
  readonly patienceMs?: number
  /** What the deciding side read, by layer, for those that observe here. */
  readonly reads?: Readonly<Record<string, LayerReads>>
  /**
   * What is inside has failed; `inward` are the seats from one that does not decide here inward. The seats to take in their place, and to
   * ask anew from there; undefined: the failure stands. Asked for each such seat, innermost first.
   */
  readonly retake?: (reason: unknown, inward: readonly Seated[]) => readonly Seated[] | undefined
}

interface Asked {
  readonly seat: Seated<Mode>
  readonly call: Call
  /** It was not waited for any longer: what it still takes is to be given back when it has spoken. */
  late?: Promise<Verdict>
}

interface Loop extends Turn {
  readonly seats: readonly Seated[]
  readonly asked: Asked[]
}

/** A call on its way: as those who decide see it, and with what observers have learned beside. */
export interface Going {
  readonly call: Call
  readonly seen: Call
}

/** Asks the seats from one on. Those on the other side are passed over together: most seats of a folded call are. */
function ask(index: number, going: Going, loop: Loop): Promise<Reply> {
  let next = index
  let place: Mode | undefined
  for (; next < loop.seats.length; next++) {
    const drawn = placed(loop.seats[next] as Seated, going, loop)
    if (drawn === 'away') continue
    place = drawn
    break
  }
  const inside = (): Promise<Reply> =>
    next < loop.seats.length ? askHere(next, { going, place }, loop) : loop.inside(going.call)
  return next === index ? inside() : inward({ from: index, to: next, before: loop.asked.length, going, inside }, loop)
}

/** Draws where a seat is for this call. Undefined: not to be said yet. */
function placed(seat: Seated, going: Going, { witness }: Loop): Place | undefined {
  const place = seat.draw ? seat.draw(going.seen) : seat.mode
  if (place) witness.placed?.(seat, place, going)
  return place
}

interface Here {
  readonly going: Going
  /** Undefined: only the layer itself can say. */
  readonly place: Mode | undefined
}

async function askHere(index: number, { going, place: drawn }: Here, loop: Loop): Promise<Reply> {
  const listed = loop.seats[index] as Seated
  const { call } = going
  const before = loop.asked.length
  const first = at(listed, drawn ?? 'observe')
  const entry: Asked = { seat: first, call }
  loop.asked.push(entry)
  const verdict = await decide(entry, loop)
  const place = drawn ?? listed.draw?.(learned(going, verdict)) ?? 'observe'
  if (!drawn) loop.witness.placed?.(listed, place, { call, seen: learned(going, verdict) })
  if (verdict.kind === 'refuse' && (place === 'enforce' || listed.vetoes)) throw verdict.error
  if (place !== 'enforce') {
    const next = { call, seen: learned(going, verdict) }
    const inside = (): Promise<Reply> => ask(index + 1, next, loop)
    const reply = await inward({ from: index, to: index + 1, before, going, inside }, loop)
    return place === 'observe' ? observedReply(listed.acting, call, reply) : reply
  }
  if (verdict.kind === 'refuse') throw verdict.error
  if (verdict.kind === 'answer') return verdict.reply
  const inner = afterPass(call, verdict)
  const seen = going.seen === call ? inner : learned(going, verdict)
  const reply = await ask(index + 1, { call: inner, seen }, loop)
  if (!listed.acting.settle) return reply
  const again: Again = (other) => {
    releaseAll(loop.asked.splice(loop.asked.findIndex((each) => each.seat === first) + 1), loop.witness)
    return through(loop.seats.slice(index + 1), other, loop)
  }
  return settle(at(listed, 'enforce'), { call: inner, reply, again }, loop.witness)
}

function learned({ seen }: Going, verdict: Verdict): Call {
  return verdict.kind === 'pass' ? afterPass(seen, { kind: 'pass', facts: verdict.facts }) : seen
}

function at(seat: Seated, mode: Mode): Seated<Mode> {
  return seat.mode === mode ? (seat as Seated<Mode>) : { ...seat, mode }
}

interface Inward {
  /** The seats that do not decide here, and are next to each other: from one until before another. */
  readonly from: number
  readonly to: number
  /** How many were asked before them. */
  readonly before: number
  /** The call as it came to the first of them. */
  readonly going: Going
  readonly inside: () => Promise<Reply>
}

/** Goes on inward from seats that do not decide here; should what is inside fail, they and those further in may be taken back. */
async function inward({ from, to, before, going, inside }: Inward, loop: Loop): Promise<Reply> {
  try {
    return await inside()
  } catch (reason) {
    for (let index = to - 1; index >= from; index--) {
      const seats = loop.retake?.(reason, loop.seats.slice(index))
      if (!seats) continue
      releaseAll(loop.asked.splice(before), loop.witness)
      return turned(seats, going, loop)
    }
    throw reason
  }
}

async function decide(entry: Asked, { witness, reads, patienceMs }: Turn): Promise<Verdict> {
  const { seat, call } = entry
  if (!seat.acting.decide) return passing
  const start = performance.now()
  let verdict: Verdict
  try {
    const said = seat.acting.decide(call, seat.mode, reads?.[seat.name])
    const hurried = patienceMs !== undefined && seat.mode === 'observe' && !seat.vetoes
    if (!(said instanceof Promise)) verdict = said
    else verdict = await (hurried ? inTime(said, entry, patienceMs) : said)
  } catch (reason) {
    verdict = refuse(gatewayErrorFrom(reason))
  }
  witness.heard(seat, verdict, performance.now() - start, call)
  return verdict
}

function inTime(said: Promise<Verdict>, entry: Asked, patienceMs: number): Promise<Verdict> {
  return new Promise((done, fail) => {
    const timer = setTimeout(() => {
      entry.late = said
      fail(gatewayError('runner_timeout', `${entry.seat.name} observes, and took longer than ${patienceMs} ms`))
    }, patienceMs)
    said.then(done, fail).finally(() => clearTimeout(timer))
  })
}

const passing: Verdict = { kind: 'pass', facts: {} }

async function settle(
  seat: Seated<Mode>,
  back: { call: Call; reply: Reply; again: Again },
  witness: Witness,
): Promise<Reply> {
  const start = performance.now()
  const turn = { mode: seat.mode, again: back.again }
  const said = seat.acting.settle?.(back.call, back.reply, turn) ?? back.reply
  const reply = said instanceof Promise ? await said : said
  witness.settled?.(seat, performance.now() - start)
  return reply
}

function releaseOnce(asked: readonly Asked[], call: Call, witness: Witness): () => void {
  let released = false
  const release = (): void => {
    if (released) return
    released = true
    call.signal.removeEventListener('abort', release)
    releaseAll(asked, witness)
  }
  // A reply that nobody starts to read never ends by itself.
  call.signal.addEventListener('abort', release)
  return release
}

function releaseAll(asked: readonly Asked[], witness: Witness): void {
  for (const { seat, call, late } of asked.toReversed()) {
    witness.ending?.(seat, call)
    const release = (): void => seat.acting.release?.(call)
    if (late) void late.then(release, release)
    else release()
  }
}
