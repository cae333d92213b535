import type { Clock } from '../../../plugins/host.ts'
import type { CallEnd } from '../../telemetry/call-span.ts'
import type { Comparison } from '../diff/comparison.ts'
import type { PairOutcome } from '../diff/pair-outcome.ts'
import type { Counted as CountedAs } from '../diff/tally.ts'
import type { Later } from '../later.ts'
import type { Flush } from '../rollout/evidence.ts'
import type { RolloutStep } from '../rollout/evidence-counts.ts'
import { createBlindness } from './blindness.ts'
import type { Drawn } from './drawn.ts'
import { endedCallFrom } from './ended-call.ts'
import type { Flight } from './in-flight.ts'
import type { LatencyFlush } from './latency-limits.ts'
import { type Bounded, createOverflow, type Overflow } from './overflow.ts'
import { type Apart, createRolloutBook, type Opinion } from './rollout-book.ts'
import { createSeenTiers, type SeenSketches } from './seen-tiers.ts'
import type { SevereKind } from './shadow-book.ts'
import { createShelf } from './shelf.ts'
import type { StepStart } from './step-start.ts'
import { isVipTier, strataNames } from './strata-names.ts'

/** What a {@link Collector} is made with. */
export interface CollectorParts {
  readonly clock: Clock
  /** Name of this gateway replica, and of this run of it. */
  readonly replica: string
  readonly boot: string
  readonly later: Later
  /** Whether a tier is VIP traffic. Default: every tier but internal, free, standard and pro. */
  readonly isVip?: (tier: string) => boolean
  /** Times of the canary that are dropped at first, once a rollout. Default 50. */
  readonly warmUp?: number
  /** Told the first time that something does not fit into its room any more. */
  readonly overflowed?: (what: Bounded) => void
}

/** Counts what decisions rest on, of every rollout under way, in this process. Nothing in it throws, waits or asks anybody. */
export interface Collector {
  /** Hears the end of a call's span; {@link CallEnd}'s attributes are all that it reads. Cheap, whatever came before. */
  onEnd(end: CallEnd): void
  /** A step of a rollout begins, or begins anew at another instant. Told again, nothing happens. */
  begin(start: StepStart): void
  /** A call was drawn, into whichever arm: counted at once, apart from all spans, as is what its flight hears. */
  assigned(call: Drawn): Flight
  /** A comparison of the layer's boundary, with what the comparison book counted it as. */
  compared(rollout: string, comparison: Comparison, as?: CountedAs): void
  /** A triple of whole answers. */
  paired(rollout: string, outcome: Pick<PairOutcome, 'differs'>): void
  /** What a caller, or the scorer, thinks of the answer of a call that was drawn. */
  opined(call: Drawn, opinion: Opinion): void
  /** Something happened that must not happen once. */
  severe(rollout: string, kind: SevereKind): void
  /** All that was counted of a rollout since it began here. */
  flush(rollout: string): Flush
  /** Its times to the first byte in the present step; undefined where nothing is known of it. Some milliseconds of work: every 10 s is enough. */
  latency(rollout: string): LatencyFlush | undefined
  /** The step that a rollout is in here; undefined where nothing is known of it. */
  stepOf(rollout: string): RolloutStep | undefined
  /** What was seen of units and strata in the last 24 hours while a layer moved, by tier. */
  seen(now: number): SeenSketches
  /** What callers and people caused, by word; no evidence. */
  apart(rollout: string): Apart
  /** Why nothing that is counted here can be trusted now, in words; looked at every 10 s. */
  readonly blind: string | undefined
  /** How often something did not fit. */
  readonly overflow: Overflow['counts']
  /** Forgets a rollout. */
  reset(rollout: string): void
  /** Ends the looks. */
  close(): void
}

const lookEveryMs = 10_000

/** Makes a {@link Collector}. It keeps the books of four rollouts at most, the newest. */
export function createCollector(parts: CollectorParts): Collector {
  const { clock, replica, boot, later, isVip = isVipTier, warmUp = 50, overflowed } = parts
  const now = () => clock.now()
  const overflow = createOverflow(overflowed)
  const blindness = createBlindness(now)
  const book = { replica, now, over: blindness.over, isVip, warmUp, overflow }
  const shelf = createShelf((start) => createRolloutBook(book, start), overflow)
  const seen = createSeenTiers(replica)
  let seq = 0
  let callOff = later(lookEveryMs, look)
  function look(): void {
    blindness.look()
    callOff = later(lookEveryMs, look)
  }
  return {
    onEnd(end) {
      try {
        const call = endedCallFrom(end)
        if (!call) return
        blindness.heard()
        shelf.bookFor(call).ended(call)
        const { tier, unit, tenant, startedAt, kind, chosen } = call
        if (!chosen) seen.add(tier, { unit, tenant, strata: strataNames(kind, isVip(tier)), at: startedAt })
      } catch (reason) {
        blindness.unreadable(reason)
      }
    },
    begin: shelf.begin,
    assigned(call) {
      blindness.drawn()
      return shelf.bookFor(call).assigned(call)
    },
    compared: (rollout, comparison, as) => shelf.find(rollout)?.compared(comparison, as),
    paired: (rollout, outcome) => shelf.find(rollout)?.paired(outcome),
    opined: (call, opinion) => shelf.find(call.rollout)?.opined(call, opinion),
    severe: (rollout, kind) => shelf.bookFor({ rollout }).severe(kind),
    flush: (rollout) => ({ replica, boot, seq: ++seq, at: now(), ...shelf.bookFor({ rollout }).counted() }),
    latency(rollout) {
      const book = shelf.find(rollout)
      return book && { replica, boot, seq: ++seq, step: book.step, arms: book.latency() }
    },
    stepOf: (rollout) => shelf.find(rollout)?.step,
    seen: (at) => seen.sketches(at),
    apart: (rollout) => shelf.find(rollout)?.apart() ?? {},
    get blind() {
      return blindness.blind
    },
    overflow: overflow.counts,
    reset: shelf.drop,
    close: () => callOff(),
  }
}
