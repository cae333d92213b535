import type { Acknowledgement } from '../../plugins/acknowledgement.ts'
import type { Call } from '../../plugins/call.ts'
import type { LayerReads } from '../../plugins/execution-context-facts.ts'
import { type FallbackReason, isEvidence } from '../../plugins/execution-context-fallback.ts'
import type { Mode } from '../../plugins/layer.ts'
import type { Going, Place, Seated } from '../../plugins/stack.ts'
import { isMoving, runnerMode, type Stage } from '../../plugins/stage.ts'
import type { Verdict } from '../../plugins/verdict.ts'
import type { Flight } from './collect/in-flight.ts'
import type { Fallback } from './fallback.ts'
import type { RolloutStep } from './rollout/evidence-counts.ts'
import type { FoldSeat } from './seats.ts'
import type { Half } from './shadow/half.ts'

/** What the runner has said of a call, and about itself. */
export interface RunnerSaid {
  readonly acknowledgement: Acknowledgement
  /** It stands in front of an engine that it does not control. */
  readonly beside: boolean
  /** Policy layers that it enforces in part only. */
  readonly soft: readonly string[]
}

/** A header that goes to the runner or comes from it. */
export type LostHeader = 'x-execution-context' | 'x-layer-ack' | 'x-layer-ack-end'

/** How one call is split between the gateway and the runner, as far as it has come. Only what happens to a call is made for it. */
export interface CallFold {
  /** What each layer is to do at the runner; layers that are not asked there are not in it. In no order. */
  readonly modes: ReadonlyMap<string, Mode>
  /** The stage of each layer that is not simply in the gateway. */
  readonly stages: ReadonlyMap<string, Stage>
  /** Why a layer fell back, or was taken along by one that did. */
  readonly fallbacks: ReadonlyMap<string, FallbackReason>
  /** The call as each of those layers saw it here. */
  readonly seen: ReadonlyMap<string, Call>
  /** What the gateway half of each layer has said, when it was asked last. */
  readonly halves: ReadonlyMap<string, Half>
  /** What the decisions of a call that never came to a runner rested on, by layer. */
  readonly reads: ReadonlyMap<string, LayerReads>
  /** Layers whose halves are, or were left out of being, held against each other. */
  readonly compared: ReadonlySet<string>
  /** The call as it is sent to a runner; undefined until then. */
  inner: Call | undefined
  /** What was wrong with the answer's stream, such as `one-finish/missing`. */
  broken: readonly string[] | undefined
  /** Layers whose gateway half decides the call, and those whose gateway half only observes it. */
  readonly decided: ReadonlySet<string>
  readonly observed: ReadonlySet<string>
  /** The rollout under way for it, and the unit that it was drawn by. */
  rollout: string | undefined
  unit: string | undefined
  /** The step of that rollout, and whether the caller chose the side itself. */
  step: RolloutStep | undefined
  chosen: boolean
  /** The flight of a call that was drawn: told what becomes of it. */
  flight: Flight | undefined
  /** Layers that a fallback was about, not those it took along; and in what way an acknowledgement was not what was asked for. */
  readonly atFault: readonly string[]
  mismatch: Mismatch | undefined
  /** How often the call was sent with a context; raised by every send. */
  sends: number
  /** Layers whose end a stream did not acknowledge: evidence against the runner. */
  readonly unacknowledged: readonly string[]
  /** Headers between gateway and runner that got lost on the way. */
  readonly missing: ReadonlySet<LostHeader>
  said: RunnerSaid | undefined
  /** What the client is told beside the layers: the reason of the first fallback, or what was wrong with its directives. */
  reason: FallbackReason | undefined
  /** Where a layer sits for this call. */
  placed(seat: FoldSeat, place: Place, going: Going): void
  /** The gateway half of a layer has spoken, and is about to be released. */
  heard(seat: Seated, verdict: Verdict, call: Call): void
  ending(seat: Seated, call: Call): void
  /** These layers are taken back. */
  fellBack(layers: readonly string[], fallback: Fallback): void
  /** A layer is not asked at the runner after all. */
  leftOut(layer: string): void
  /** The halves of a layer are held against each other, or left out of that. */
  holds(layer: string): void
  /** A header got lost. */
  lost(header: LostHeader): void
  /** The stream did not acknowledge the end of these layers. */
  unheard(layers: readonly string[]): void
}

/**
 * What the runner is still to do of a layer that has fallen back: it observes where it could have acted, so that who provokes fallbacks
 * finds its counters as full as the gateway's.
 */
function modeAfter(reason: FallbackReason): Mode | undefined {
  return isEvidence(reason) ? undefined : 'observe'
}

/** In what way an acknowledgement was not what was asked for, and of which layer. */
export interface Mismatch {
  readonly kind: string
  readonly layer?: string | undefined
}

/** The layer that moves has its place: the call belongs to an arm of its rollout from now on. */
export type Draw = (fold: CallFold, drawn: DrawnCall) => void

/** A call as the layer that moves gets its place. */
export interface DrawnCall {
  readonly seat: FoldSeat
  readonly place: Place
  /** With all that was learned of it so far. */
  readonly seen: Call
}

const noMap: ReadonlyMap<string, never> = new Map<string, never>()
const noSet: ReadonlySet<never> = new Set()
const none: readonly never[] = []

function added<Value>(map: ReadonlyMap<string, Value>, key: string, value: Value): ReadonlyMap<string, Value> {
  return map === noMap ? new Map([[key, value]]) : (map as Map<string, Value>).set(key, value)
}

function put<Key>(set: ReadonlySet<Key>, key: Key, there = true): ReadonlySet<Key> {
  if (there) return set === noSet ? new Set([key]) : (set as Set<Key>).add(key)
  if (set !== noSet) (set as Set<Key>).delete(key)
  return set
}

// A class, and one shared empty collection for all that most calls have nothing of: a dozen of their own for each would be what costs.
class SplitCall implements CallFold {
  readonly modes = new Map<string, Mode>()
  readonly stages = new Map<string, Stage>()
  readonly seen = new Map<string, Call>()
  fallbacks: ReadonlyMap<string, FallbackReason> = noMap
  halves: ReadonlyMap<string, Half> = noMap
  reads: ReadonlyMap<string, LayerReads> = noMap
  compared: ReadonlySet<string> = noSet
  decided: ReadonlySet<string> = noSet
  observed: ReadonlySet<string> = noSet
  missing: ReadonlySet<LostHeader> = noSet
  atFault: readonly string[] = none
  unacknowledged: readonly string[] = none
  inner: Call | undefined
  broken: readonly string[] | undefined
  rollout: string | undefined
  unit: string | undefined
  step: RolloutStep | undefined
  chosen = false
  flight: Flight | undefined
  mismatch: Mismatch | undefined
  sends = 0
  said: RunnerSaid | undefined
  reason: FallbackReason | undefined
  readonly #drawn: Draw

  constructor(drawn: Draw) {
    this.#drawn = drawn
  }
  placed(seat: FoldSeat, place: Place, { call, seen }: Going): void {
    const { name, stage } = seat
    const reason = this.fallbacks.get(name)
    const mode = reason ? modeAfter(reason) : runnerMode(stage, place)
    if (stage !== 'gateway') this.stages.set(name, stage)
    if (mode) this.modes.set(name, mode)
    else this.modes.delete(name)
    if (mode) this.seen.set(name, call)
    this.decided = put(this.decided, name, place === 'enforce')
    this.observed = put(this.observed, name, place === 'observe')
    if (isMoving(seat) && this.rollout === undefined) this.#drawn(this, { seat, place, seen })
  }
  heard({ name, acting }: Seated, verdict: Verdict, call: Call): void {
    this.halves = added(this.halves, name, { name, verdict, call, counts: acting.reads !== undefined })
  }
  ending({ name, acting }: Seated, call: Call): void {
    if (this.sends > 0 || !this.modes.has(name)) return
    const reads = acting.reads?.(call)
    if (reads) this.reads = added(this.reads, name, reads)
  }
  fellBack(layers: readonly string[], { reason, layers: atFault, mismatch }: Fallback): void {
    this.reason ??= reason
    this.mismatch ??= mismatch
    this.atFault = [...this.atFault, ...(atFault.length > 0 ? atFault : layers)]
    for (const name of layers) {
      this.fallbacks = added(this.fallbacks, name, reason)
      this.modes.delete(name)
    }
  }
  leftOut(layer: string): void {
    this.modes.delete(layer)
  }
  holds(layer: string): void {
    this.compared = put(this.compared, layer)
  }
  lost(header: LostHeader): void {
    this.missing = put(this.missing, header)
  }
  unheard(layers: readonly string[]): void {
    this.unacknowledged = [...this.unacknowledged, ...layers]
  }
}

/** Makes the {@link CallFold} of a call. */
export function createCallFold(drawn: Draw = () => undefined): CallFold {
  return new SplitCall(drawn)
}
