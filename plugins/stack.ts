import type { Call } from './call.ts'
import { gatewayErrorFrom } from './errors.ts'
import type { Acting, Again, Mode } from './layer.ts'
import type { Reply } from './reply.ts'
import { afterPass, refuse, type Verdict } from './verdict.ts'

/** A layer that has its place in a call: who it is, what it does, and whether it decides or only says. */
export interface Seated {
  readonly name: string
  readonly acting: Acting
  readonly mode: Mode
}

/** Hears every verdict; feeds status headers, metrics, traces and the shadow diff. Must not throw. */
export interface Witness {
  /** A layer has answered; `call` is what it was asked. `ms` is how long it took, in milliseconds. */
  heard(seat: Seated, verdict: Verdict, ms: number, call: Call): void
  /** A layer has settled a reply. */
  settled?(seat: Seated, ms: number): void
}

/**
 * Turns the loop: asks the layers in order, runs what is inside, settles in reverse. A refusal or a failure is thrown as
 * `GatewayError`. Every layer that was asked is released exactly once: when the reply has been read to its end or dropped, when
 * the call fails, or when its signal aborts, whichever is first.
 */
export async function through(seats: readonly Seated[], call: Call, turn: Turn): Promise<Reply> {
  if (seats.length === 0) return turn.inside(call)
  const asked: Asked[] = []
  const release = releaseOnce(asked, call)
  try {
    const reply = await ask(0, call, { ...turn, seats, asked })
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
}

interface Asked {
  readonly seat: Seated
  readonly call: Call
}

interface Loop extends Turn {
  readonly seats: readonly Seated[]
  readonly asked: Asked[]
}

async function ask(index: number, call: Call, loop: Loop): Promise<Reply> {
  const seat = loop.seats[index]
  if (!seat) return loop.inside(call)
  loop.asked.push({ seat, call })
  const verdict = await decide(seat, call, loop.witness)
  if (seat.mode === 'observe') return ask(index + 1, call, loop)
  if (verdict.kind === 'refuse') throw verdict.error
  if (verdict.kind === 'answer') return verdict.reply
  const inner = afterPass(call, verdict)
  const reply = await ask(index + 1, inner, loop)
  if (!seat.acting.settle) return reply
  const again: Again = (other) => {
    releaseAll(loop.asked.splice(loop.asked.findIndex((each) => each.seat === seat) + 1))
    return through(loop.seats.slice(index + 1), other, loop)
  }
  return settle(seat, { call: inner, reply, again }, loop.witness)
}

async function decide(seat: Seated, call: Call, witness: Witness): Promise<Verdict> {
  if (!seat.acting.decide) return passing
  const start = performance.now()
  let verdict: Verdict
  try {
    const said = seat.acting.decide(call, seat.mode)
    verdict = said instanceof Promise ? await said : said
  } catch (reason) {
    verdict = refuse(gatewayErrorFrom(reason))
  }
  witness.heard(seat, verdict, performance.now() - start, call)
  return verdict
}
const passing: Verdict = { kind: 'pass', facts: {} }

async function settle(
  seat: Seated,
  back: { call: Call; reply: Reply; again: Again },
  witness: Witness,
): Promise<Reply> {
  const start = performance.now()
  const said = seat.acting.settle?.(back.call, back.reply, back.again) ?? back.reply
  const reply = said instanceof Promise ? await said : said
  witness.settled?.(seat, performance.now() - start)
  return reply
}

function releaseOnce(asked: readonly Asked[], call: Call): () => void {
  let released = false
  const release = (): void => {
    if (released) return
    released = true
    call.signal.removeEventListener('abort', release)
    releaseAll(asked)
  }
  // A reply that nobody starts to read never ends by itself.
  call.signal.addEventListener('abort', release)
  return release
}

function releaseAll(asked: readonly Asked[]): void {
  for (const { seat, call } of asked.toReversed()) seat.acting.release?.(call)
}
