import type { Mode } from './layer.ts'
import type { Place } from './stack.ts'

/** How far a layer has moved to the runner. */
export type Stage = 'gateway' | 'shadow' | 'canary' | 'native' | 'rolled-back'

/** Every stage, from the gateway inward. */
export const stageNames: readonly Stage[] = ['rolled-back', 'gateway', 'shadow', 'canary', 'native']

/** Where one layer is. */
export interface LayerStage {
  readonly stage: Stage
  /** In canary: the percentage of units that the runner decides for, in tiers without a share of their own. */
  readonly weight: number
  /** In canary: the share of each tier, in basis points (0 to 10,000). Absent: {@link weight} for all. */
  readonly weights?: Readonly<Record<string, number>>
  /** It is not promoted until somebody lets it go. */
  readonly held?: boolean
  /** The rollout that brought it here, a ULID, and what its units are drawn with. Absent outside a rollout. */
  readonly rollout?: string
  readonly salt?: string
}

/**
 * The share of a tier that the runner decides for, in basis points. A tier that is not named has none, since the last to move is who nobody
 * knows; unless no tier is named at all (`*`): then all move together. `-` is for callers without a tier.
 */
export function shareOf({ weight, weights }: LayerStage, tier: string): number {
  if (!weights) return weight * 100
  if (tier === '') return weights['-'] ?? weight * 100
  return Object.hasOwn(weights, tier) ? (weights[tier] as number) : (weights['*'] ?? 0)
}

/** In shadow or canary: its gateway half decides all calls or some. */
export function isMoving({ stage }: Pick<LayerStage, 'stage'>): boolean {
  return stage === 'shadow' || stage === 'canary'
}

/**
 * What a layer does at the runner for a call, from its stage and from where it sits in the gateway: exactly one side enforces. Undefined:
 * the runner is not asked about it.
 */
export function runnerMode(stage: Stage, place: Place): Mode | undefined {
  if (stage === 'gateway' || stage === 'rolled-back') return undefined
  return place === 'enforce' ? 'observe' : 'enforce'
}

/** The value of the metric `layer_stage`: −1 rolled back, 0 gateway, 1 shadow, 2 to 5 the steps of the canary, 6 native. */
export function stageNumber({ stage, weight }: LayerStage, steps: readonly number[]): number {
  if (stage === 'canary')
    return (
      2 +
      Math.max(
        0,
        Math.min(
          3,
          steps.findIndex((step) => step >= weight),
        ),
      )
    )
  return { 'rolled-back': -1, gateway: 0, shadow: 1, native: 6 }[stage]
}

/** A stage in words, such as `canary 10 %`. */
export function sayStage({ stage, weight }: LayerStage): string {
  return stage === 'canary' ? `canary ${weight} %` : stage
}

/** The share of a layer's calls that the runner decides, 0 to 1. */
export function weightOf({ stage, weight }: LayerStage): number {
  return stage === 'native' ? 1 : stage === 'canary' ? weight / 100 : 0
}
