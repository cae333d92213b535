import type { DropReason } from '../../telemetry/metric-values.ts'
import type { Answer } from '../diff/answer.ts'
import { answerLayer, comparisonFrom, type Finding, type SkipReason } from '../diff/comparison.ts'
import type { PairOutcome } from '../diff/pair-outcome.ts'
import { findingFromAnswers } from '../diff/response-diff.ts'
import { strataFromCall } from '../diff/strata.ts'
import type { CompareSettings } from './comparing.ts'
import type { CopyPlan } from './copy-plan.ts'
import type { Shadow } from './shadow.ts'

/** One call that was answered three times. */
export interface Triple {
  readonly plan: CopyPlan
  readonly outcome: PairOutcome
  /** Both copies: the old way again, and the new way. */
  readonly repeated: Answer
  readonly renewed: Answer
}

/** A triple's outcome for those who decide by it. */
export interface PairHeard {
  readonly layer: string
  readonly rollout: string | undefined
  readonly outcome: PairOutcome
}

/** Where triples of whole answers are written down. */
export interface TripleBook {
  add(triple: Triple): void
  /** One was not judged; `dropped` where it was given up so as not to be in the way, or failed. */
  left(plan: CopyPlan, reason: SkipReason, dropped?: DropReason): void
}

/** Makes a {@link TripleBook} under one configuration. */
export function createTripleBook(shadow: Shadow, settings: CompareSettings, now: () => number): TripleBook {
  const note = ({ call, moving }: CopyPlan, finding: Finding): void => {
    const tier = call.facts.principal?.tier ?? ''
    const strata = strataFromCall(call, { cacheHit: false })
    const comparison = comparisonFrom(finding, { layer: answerLayer, call: call.id, tier, strata, at: now() })
    shadow.comparing.note({ comparison, rollout: settings.stageOf(moving).rollout }, settings)
  }
  return {
    add({ plan, outcome, repeated, renewed }) {
      const { moving, target } = plan
      shadow.pairs.add(moving, outcome)
      shadow.paired({ layer: moving, rollout: settings.stageOf(moving).rollout, outcome }, target)
      // Not with what was served: the gateway has put that into the form that was asked for.
      note(plan, findingFromAnswers(repeated, renewed, { headers: false }))
    },
    left(plan, reason, dropped) {
      shadow.pairs.left(plan.moving, reason)
      if (dropped) shadow.dropped(dropped)
      note(plan, { verdict: 'skipped', reason })
    },
  }
}
