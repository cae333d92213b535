import { isMoving, type LayerStage, sayStage } from '../../../plugins/stage.ts'
import { type DecisionRecord, evidenceAgeMs } from '../../folding/rollout/decision-record.ts'
import { figuresFrom } from '../../folding/rollout/figures.ts'
import type { LayerState, StageDocument } from '../../folding/state/document.ts'
import type { RolloutsView, RolloutView, Verdict } from './rollout-view.ts'

/** What the view is made of. */
export interface RolloutsParts {
  /** Names of the layers that are configured, outermost first. */
  readonly layers: readonly string[]
  /** Milliseconds since the epoch. */
  readonly now: number
  stageOf(layer: string): LayerStage
  stateOf(layer: string): LayerState
  readonly known: StageDocument
  /** The last decision over a layer that moves. */
  decisionOn(layer: string): DecisionRecord | undefined
}

/** Every configured layer as tools outside ask about it: from the decisions that were made, never by deciding anew. */
export function rolloutsFrom(parts: RolloutsParts): RolloutsView {
  return {
    now: parts.now,
    frozen: parts.known.hold !== '',
    layers: parts.layers.map((layer) => rolloutFrom(layer, parts)),
  }
}

const verdicts: Readonly<Record<DecisionRecord['decision']['kind'], Verdict>> = {
  promote: 'pass',
  rollback: 'fail',
  hold: 'inconclusive',
  continue: 'inconclusive',
}

function rolloutFrom(layer: string, { now, stageOf, stateOf, known, decisionOn }: RolloutsParts): RolloutView {
  const stage = stageOf(layer)
  const state = stateOf(layer)
  const record = isMoving(stage) ? decisionOn(layer) : undefined
  const rolledBackAt = state.stage === 'rolled-back' ? (known.tripped[state.rolloutId]?.at ?? state.startedAt) : null
  const around = { ...stage, layer, held: state.held, rolledBackAt }
  if (record) return { ...around, ...judged(record, now) }
  const none = { samples: 0, needed: 0, bad: 0, compared: 0, different: 0, evidenceAgeMs: null }
  const why = isMoving(stage) ? 'nothing was decided yet' : `it is ${sayStage(stage)}${reasonOf(state)}`
  return { ...around, verdict: 'inconclusive', why, ...none }
}

const reasonOf = ({ stage, reason }: LayerState): string => (stage === 'rolled-back' ? `: ${reason}` : '')

/** What a decision saw. */
function judged(record: DecisionRecord, now: number) {
  const { evidence, constants, decision } = record
  const all = evidence.shadow.strata['all']
  const counted = evidence.step === 'shadow' ? { n: all?.compared ?? 0, x: all?.different ?? 0 } : undefined
  const { n, x } = counted ?? figuresFrom(evidence, constants).errors
  const needed = decision.gates.find(({ name }) => name === (counted ? 'differences' : 'calls'))
  return {
    verdict: verdicts[decision.kind],
    why:
      needed && !needed.met
        ? `${n} of ${needed.needs || needed.threshold} calls seen; ${decision.reason}`
        : decision.reason,
    samples: n,
    needed: needed ? needed.needs || needed.threshold : 0,
    bad: x,
    compared: all?.compared ?? 0,
    different: all?.different ?? 0,
    evidenceAgeMs: evidenceAgeMs(record, now),
  }
}
