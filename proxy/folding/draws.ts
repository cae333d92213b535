import { shortHash, unitHash } from '../span-attributes.ts'
import type { Draw } from './call-fold.ts'
import type { Collector } from './collect/collector.ts'
import type { RolloutStep } from './rollout/evidence-counts.ts'
import { canaryStep } from './rollout/stage-start.ts'
import { percentOf } from './stage-plan.ts'
import type { Stages } from './stages.ts'

/** What of a call a draw needs to know. */
export interface DrawnFrom {
  /** When it began, in milliseconds since the epoch. */
  readonly startedAt: number
}

/** Makes what notes to which arm of which rollout a call belongs, at the draw and apart from all spans. */
export function createDraws(collector: Collector, stages: Stages): (record: DrawnFrom) => Draw {
  return ({ startedAt }) =>
    (fold, { seat, place, seen }) => {
      const { rollout, unitOf, chosen } = seat
      const unit = unitOf?.(seen)
      if (rollout === undefined || unit === undefined) return
      const step = stepOf(stages, seat.name)
      fold.rollout = rollout
      fold.unit = unit
      fold.step = step
      fold.chosen = chosen?.(seen) ?? false
      if (fold.chosen) return
      const { tenant = '', tier = '' } = seen.facts.principal ?? {}
      fold.flight = collector.assigned({
        rollout,
        step,
        stepStartedAt: stages.stateOf(seat.name).startedAt,
        tier,
        arm: place === 'observe' ? 'canary' : 'control',
        unit: unitHash(unit),
        tenant: tenant ? shortHash(tenant) : unitHash(unit),
        startedAt,
        stream: false,
      })
    }
}

/** The step of the rollout that moves a layer. */
export function stepOf(stages: Pick<Stages, 'stateOf' | 'plan'>, layer: string): RolloutStep {
  const state = stages.stateOf(layer)
  return state.stage === 'canary' ? canaryStep(percentOf(state, stages.plan), stages.plan.steps) : 'shadow'
}
