import type { Acknowledgement } from '../../plugins/acknowledgement.ts'
import type { Call } from '../../plugins/call.ts'
import { type FallbackReason, isEvidence } from '../../plugins/execution-context-fallback.ts'
import type { Mode } from '../../plugins/layer.ts'
import type { Place } from '../../plugins/stack.ts'
import { runnerMode, type Stage } from '../../plugins/stage.ts'
import type { Fallback } from './fallback.ts'
import type { FoldSeat } from './seats.ts'

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
  /** Layers whose gateway half decides the call, and those whose gateway half only observes it. */
  readonly decided: Set<string>
  readonly observed: Set<string>
  /** The rollout under way for it, and the unit that it was drawn by. */
  rollout: string | undefined
  unit: string | undefined
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
  placed(seat: FoldSeat, place: Place, call: Call): void
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

/** Makes the {@link CallFold} of a call. */
export function createCallFold(): CallFold {
  const fold: CallFold = {
    modes: new Map(),
    stages: new Map(),
    fallbacks: new Map(),
    seen: new Map(),
    decided: new Set(),
    observed: new Set(),
    rollout: undefined,
    unit: undefined,
    sends: 0,
    unacknowledged: [],
    missing: new Set(),
    said: undefined,
    reason: undefined,
    placed({ name, stage }, place, call) {
      const reason = fold.fallbacks.get(name)
      const mode = reason ? modeAfter(reason) : runnerMode(stage, place)
      if (stage !== 'gateway') fold.stages.set(name, stage)
      if (mode) fold.modes.set(name, mode)
      else fold.modes.delete(name)
      if (mode) fold.seen.set(name, call)
      put(fold.decided, name, place === 'enforce')
      put(fold.observed, name, place === 'observe')
    },
    fellBack(layers, { reason }) {
      fold.reason ??= reason
      for (const name of layers) {
        fold.fallbacks.set(name, reason)
        fold.modes.delete(name)
      }
    },
  }
  return fold
}
