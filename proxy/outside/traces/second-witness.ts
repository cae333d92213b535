import type { Log } from '../../../plugins/host.ts'
import type { DecisionRecord } from '../../folding/rollout/decision-record.ts'
import { armTotals } from '../../folding/rollout/evidence.ts'
import { figuresFrom } from '../../folding/rollout/figures.ts'
import type { ArmCounts, WitnessQuestion } from './question.ts'
import type { Witness } from './witness.ts'

/** How the reason of a hold begins when the trace store contradicts what was counted here. */
export const disagreement = 'the second witness disagrees: '

/** A promotion that is about to be made, and what it rests on. */
export interface Promotion {
  readonly layer: string
  /** `shadow` or `canary`, as spans have it. */
  readonly stage: string
  readonly record: DecisionRecord
}

/** What a second witness is asked with. */
export interface SecondWitnessParts {
  readonly witness: Witness
  /** `service.name` of the spans. */
  readonly service: string
  readonly log: Log
  /** The store contradicts: keeps the layer where it is; `reason` begins with {@link disagreement}. */
  hold(layer: string, reason: string): Promise<void>
}

/** Asks a trace store before promotions, beside the decisions: those go on being made while it answers. */
export interface SecondWitness {
  /** Whether nothing from the store speaks against it. False while it is being asked: ask again. Never throws. */
  allows(promotion: Promotion): boolean
}

/** Makes a {@link SecondWitness}. A store that does not answer, or holds too few calls, stops nothing and is told of in the log. */
export function createSecondWitness(parts: SecondWitnessParts): SecondWitness {
  let known: { readonly key: string; answer: 'asking' | 'allowed' } | undefined
  const ask = async (promotion: Promotion): Promise<boolean> => {
    const { layer, record } = promotion
    const { verdict, words } = await parts.witness.compare(...questionFrom(promotion, parts.service))
    const { rollout } = record.evidence
    if (verdict === 'agree') parts.log.info({ layer, rollout, words }, 'the second witness agrees')
    else if (verdict === 'too-few') parts.log.warn({ layer, rollout, words }, 'promoted without a second witness')
    else await parts.hold(layer, disagreement + words)
    return verdict !== 'disagree'
  }
  return {
    allows(promotion) {
      const { rollout, step, startedAt } = promotion.record.evidence
      const key = `${rollout}\n${step}\n${startedAt}`
      if (known?.key === key) return known.answer === 'allowed'
      const asked: NonNullable<typeof known> = { key, answer: 'asking' }
      known = asked
      ask(promotion)
        .then((fine) => {
          if (fine) asked.answer = 'allowed'
          // Once somebody lets the layer go again, the store is asked anew.
          else if (known === asked) known = undefined
        })
        .catch((reason: unknown) => {
          parts.log.error({ reason: (reason as Error).message }, 'the second witness could not be heard')
          if (known === asked) known = undefined
        })
      return false
    },
  }
}

/** What the store is asked, and what was counted here: calls that the runner decided, or fell back from, against all others. */
function questionFrom({ layer, stage, record }: Promotion, service: string): [WitnessQuestion, ArmCounts] {
  const { evidence, constants, at } = record
  const { rollout, step, startedAt } = evidence
  const cells = evidence.cells.filter((cell) => cell.step === step && cell.window >= startedAt)
  const { canary, control } = armTotals(cells)
  const fallbacks = figuresFrom(evidence, constants).fallbacks.x
  const observed = { calls: control.ended ?? 0, bad: control.bad ?? 0, fallbacks: 0 }
  const decided = { calls: canary.ended ?? 0, bad: canary.bad ?? 0, fallbacks }
  const judged = step === 'shadow' ? 'shadow' : 'proving'
  return [
    { service, layer, rollout, stage, fromMs: startedAt, toMs: at, arm: judged },
    step === 'shadow' ? { shadow: observed } : { proving: decided, shadow: observed },
  ]
}
