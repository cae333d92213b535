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

/** How one call is split between the gateway and the runner, as far as it has come. */
export interface CallFold {
  /** What each layer is to do at the runner; layers that are not asked there are not in it. In no order. */
  readonly modes: Map<string, Mode>
  /** The stage of each layer that is not simply in the gateway. */
  readonly stages: Map<string, Stage>
  /** Why a layer fell back, or was taken along by one that did. */
  readonly fallbacks: Map<string, FallbackReason>
  /** The call as each of those layers saw it here. */
  readonly seen: Map<string, Call>
  /** What the gateway half of each layer has said, when it was asked last. */
  readonly halves: Map<string, Half>
  /** What the decisions of a call that never came to a runner rested on, by layer. */
  readonly reads: Map<string, LayerReads>
  /** Layers whose halves are, or were left out of being, held against each other. */
  readonly compared: Set<string>
  /** The call as it is sent to a runner; undefined until then. */
  inner: Call | undefined
  /** What was wrong with the answer's stream, such as `one-finish/missing`. */
  broken: readonly string[] | undefined
  /** Layers whose gateway half decides the call, and those whose gateway half only observes it. */
  readonly decided: Set<string>
  readonly observed: Set<string>
  /** The rollout under way for it, and the unit that it was drawn by. */
  rollout: string | undefined
  unit: string | undefined
  /** The step of that rollout, and whether the caller chose the side itself. */
  step: RolloutStep | undefined
  chosen: boolean
  /** The flight of a call that was drawn: told what becomes of it. */
  flight: Flight | undefined
  /** Layers that a fallback was about, not those it took along; and in what way an acknowledgement was not what was asked for. */
  readonly atFault: string[]
  mismatch: Mismatch | undefined
  /** How often the call was sent with a context; raised by every send. */
  sends: number
  /** Layers whose end a stream did not acknowledge: evidence against the runner. */
  readonly unacknowledged: string[]
  /** Headers between gateway and runner that got lost on the way. */
  readonly missing: Set<LostHeader>
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
}

function put(set: Set<string>, name: string, there: boolean): void {
  if (there) set.add(name)
  else set.delete(name)
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

/** Makes the {@link CallFold} of a call. */
export function createCallFold(drawn: Draw = () => undefined): CallFold {
  const fold: CallFold = {
    modes: new Map(),
    stages: new Map(),
    fallbacks: new Map(),
    seen: new Map(),
    halves: new Map(),
    reads: new Map(),
    compared: new Set(),
    inner: undefined,
    broken: undefined,
    decided: new Set(),
    observed: new Set(),
    rollout: undefined,
    unit: undefined,
    step: undefined,
    chosen: false,
    flight: undefined,
    atFault: [],
    mismatch: undefined,
    sends: 0,
    unacknowledged: [],
    missing: new Set(),
    said: undefined,
    reason: undefined,
    placed(seat, place, { call, seen }) {
      const { name, stage } = seat
      const reason = fold.fallbacks.get(name)
      const mode = reason ? modeAfter(reason) : runnerMode(stage, place)
      if (stage !== 'gateway') fold.stages.set(name, stage)
      if (mode) fold.modes.set(name, mode)
      else fold.modes.delete(name)
      if (mode) fold.seen.set(name, call)
      put(fold.decided, name, place === 'enforce')
      put(fold.observed, name, place === 'observe')
      if (isMoving(seat) && fold.rollout === undefined) drawn(fold, { seat, place, seen })
    },
    heard({ name, acting }, verdict, call) {
      fold.halves.set(name, { name, verdict, call, counts: acting.reads !== undefined })
    },
    ending({ name, acting }, call) {
      if (fold.sends > 0 || !fold.modes.has(name)) return
      const reads = acting.reads?.(call)
      if (reads) fold.reads.set(name, reads)
    },
    fellBack(layers, { reason, layers: atFault, mismatch }) {
      fold.reason ??= reason
      fold.mismatch ??= mismatch
      fold.atFault.push(...(atFault.length > 0 ? atFault : layers))
      for (const name of layers) {
        fold.fallbacks.set(name, reason)
        fold.modes.delete(name)
      }
    },
  }
  return fold
}
