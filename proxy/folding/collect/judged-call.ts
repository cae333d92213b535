import { errorKinds } from '../../../plugins/errors.ts'
import { isEvidence } from '../../../plugins/execution-context-fallback.ts'
import type { EndedCall } from './ended-call.ts'

/** What a call counts as. */
export interface Judged {
  /** It went wrong for its caller. */
  readonly bad: Bad | undefined
  /** Its caller was refused or limited, or went away: no fault of anybody, compared by rate. */
  readonly event: 'refused' | 'limited' | 'aborted' | undefined
  /** A fallback that the runner caused, for this layer. */
  readonly evidence: boolean
  /** Its caller, or people, took it out of the runner's hands: it says nothing of the runner, good or bad. */
  readonly excused: boolean
  /** It tells something of whoever decided it. */
  readonly trial: boolean
  /** Acknowledged by a version that is not the one that was asked for. */
  readonly unknownVersion: boolean
  /** Acknowledged otherwise than asked, by the right version. */
  readonly mismatch: boolean
}

/** In what way a call was bad. */
export interface Bad {
  /** The same for all calls that were bad in the same way. */
  readonly signature: string
  /** The half of the layer caused it itself. */
  readonly failed: boolean
}

/** An acknowledgement of the right runner that says something else than was asked. The others are no acknowledgements. */
const mismatches: ReadonlySet<string> = new Set(['mode', 'layer-missing', 'layer-unasked'])

/**
 * Judges an ended call by `canary.md` §3.1. Bad: 5xx and transport errors, layer status that does not match, streams and usage that
 * break their invariants, a hard difference in a live check, a stream that began later than `lateMs`. Not bad: aborts (499), 4xx and 429,
 * text that differs, and whatever its caller or people took out of the runner's hands.
 */
export function judged(call: EndedCall, lateMs: number): Judged {
  const inCanary = call.arm === 'canary'
  const fellBack = inCanary && call.fallback !== undefined
  const byRunner = fellBack && isEvidence(call.fallback)
  const excused = call.chosen || (fellBack && !(byRunner && call.atFault))
  const event = eventOf(call)
  const unknownVersion = call.mismatch === 'version'
  const mismatch = call.mismatch !== undefined && mismatches.has(call.mismatch)
  const bad = excused || event === 'aborted' ? undefined : badOf(call, lateMs)
  return {
    event,
    excused,
    evidence: byRunner && !excused,
    trial: !excused && (event === undefined || bad !== undefined),
    bad,
    unknownVersion: unknownVersion && !excused,
    // A stream that does not end with the layer's last word left the layer out, as far as anybody can tell; an abort cuts it off.
    mismatch: !excused && (mismatch || (call.unacknowledged && event !== 'aborted')),
  }
}

function eventOf({ code, error }: EndedCall): Judged['event'] {
  if (code === 499 || error === 'client_closed') return 'aborted'
  if (code === 429) return 'limited'
  return code >= 400 && code < 500 ? 'refused' : undefined
}

function badOf(call: EndedCall, lateMs: number): Bad | undefined {
  const own = call.arm === 'canary' ? ownFault(call) : undefined
  if (own !== undefined) return { signature: own, failed: true }
  if (call.broken !== undefined) return { signature: `broken ${call.broken}`, failed: call.arm === 'canary' }
  if (isServerError(call)) return { signature: call.error ?? String(call.code), failed: protocolFault(call) }
  const late = call.kind.stream && call.firstByteMs !== undefined && call.firstByteMs > lateMs
  return late ? { signature: 'late', failed: false } : undefined
}

/** What the runner's half alone can do. While it only observes, nobody is served by it. */
function ownFault({ mismatch, unacknowledged }: EndedCall): string | undefined {
  if (mismatch === 'version' || (mismatch !== undefined && mismatches.has(mismatch))) return `mismatch ${mismatch}`
  return unacknowledged ? 'unacknowledged' : undefined
}

/** A gateway that is told to leave, and load that is shed by leave, are no faults on the way. */
function isServerError({ code, error, shed }: EndedCall): boolean {
  if (shed || error === 'draining') return false
  // A runner's 4xx is passed on under an error of its own: the status tells it from a failure.
  return code >= 500 || (code < 400 && error !== undefined && errorKinds[error].status >= 500)
}

/** The runner spoke, and not as agreed: an engine behind it that fails says so properly. */
function protocolFault({ arm, error, fallback }: EndedCall): boolean {
  return arm === 'canary' && error === 'runner_protocol' && fallback === undefined
}
