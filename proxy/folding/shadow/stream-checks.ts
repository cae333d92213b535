import {
  createStreamInvariants,
  type StreamChecker,
  type StreamEnd,
  type StreamReport,
} from '../diff/stream-invariants.ts'
import { createStreamMemory } from '../diff/stream-memory.ts'
import type { Arm } from '../rollout/evidence-counts.ts'

/** What a stream is expected to be. */
export interface StreamWish {
  /** Its usage chunk was asked for. */
  readonly usage: boolean
  /** Longest silence, in milliseconds. */
  readonly idleMs: number
  readonly arm: Arm
}

/** One stream that is looked at as its bytes go by. */
export interface StreamCheck {
  /** The same bytes; each part is looked at after it has gone on. */
  tap(body: AsyncIterable<Buffer>): AsyncIterable<Buffer>
  /** Once. What is broken, each such as `one-finish/missing`. */
  end(kind: StreamEnd['kind']): readonly string[]
}

/** What was found of the streams of one arm. */
export interface StreamTally {
  readonly checked: number
  /** Not looked at, since too many were under way. */
  readonly left: number
  /** Too large to be looked at whole. */
  readonly partly: number
  readonly broken: Readonly<Record<string, number>>
}

/** Holds streams to what must be true of every one of them. One a process. */
export interface StreamChecks {
  /** Undefined where too many are looked at already; that is counted. */
  open(wish: StreamWish): StreamCheck | undefined
  tally(): Readonly<Record<Arm, StreamTally>>
}

/** Streams that are looked at at a time: both arms alike, so that neither looks better for being looked at less. */
const mostStreams = 1_024

interface Tallying {
  checked: number
  left: number
  partly: number
  readonly broken: Record<string, number>
}

/** Makes {@link StreamChecks}. */
export function createStreamChecks(most = mostStreams): StreamChecks {
  const memory = createStreamMemory()
  const tallies: Record<Arm, Tallying> = { canary: newTally(), control: newTally() }
  const all = { open: 0 }
  return {
    open({ usage, idleMs, arm }) {
      const tally = tallies[arm]
      if (all.open >= most) {
        tally.left++
        return undefined
      }
      const checker = createStreamInvariants({ usage, idleMs, startedAt: 0 }, memory)
      const clock = { waitedMs: 0 }
      return {
        tap: (body) => tapped(body, checker, { clock, all }),
        end: (kind) => noted(tally, checker.end(endOf(kind, clock.waitedMs), clock.waitedMs)),
      }
    },
    tally: () => ({ canary: { ...tallies.canary }, control: { ...tallies.control } }),
  }
}

function newTally(): Tallying {
  return { checked: 0, left: 0, partly: 0, broken: {} }
}

function noted(tally: Tallying, { broken, unchecked }: StreamReport): readonly string[] {
  const names = broken.map(({ invariant, detail }) => `${invariant}/${detail}`)
  tally.checked++
  if (unchecked.some(({ reason }) => reason === 'too_large')) tally.partly++
  for (const name of names) tally.broken[name] = (tally.broken[name] ?? 0) + 1
  return names
}

/** An abort reaches the runner at once: the exchange hangs on the caller's signal. */
function endOf(kind: StreamEnd['kind'], at: number): StreamEnd {
  return kind === 'aborted' ? { kind, callerAt: at, runnerAt: at } : { kind }
}

interface Tapping {
  readonly clock: { waitedMs: number }
  readonly all: { open: number }
}

/**
 * The clock runs while the runner is waited for, and stands still while a caller reads slowly: that is no silence of the runner. A stream
 * counts while it is read: what nobody begins to read never ends either.
 */
async function* tapped(
  body: AsyncIterable<Buffer>,
  checker: StreamChecker,
  { clock, all }: Tapping,
): AsyncGenerator<Buffer> {
  all.open++
  try {
    let asked = performance.now()
    for await (const part of body) {
      clock.waitedMs += performance.now() - asked
      yield part
      checker.push(part, clock.waitedMs)
      asked = performance.now()
    }
    clock.waitedMs += performance.now() - asked
  } finally {
    all.open--
  }
}
