import type { RolloutStep } from '../rollout/evidence-counts.ts'
import type { StageConstants } from '../rollout/stage-constants.ts'
import type { LatencyLimits } from './latency-limits.ts'

/** A step of a rollout begins, or begins anew after a hold, as every process of the gateway is told of it. */
export interface StepStart {
  readonly rollout: string
  readonly step: RolloutStep
  /** When it began, in milliseconds since the epoch: fuses hear of no call that began earlier. */
  readonly startedAt: number
  /** What fuses of one place are set to. Default: 0.1 % against 0.5 %, 7, 30 s. */
  readonly constants?: Pick<StageConstants, 'errors' | 'cusum' | 'vip' | 'stuckMs'> &
    Partial<Pick<StageConstants, 'counting'>>
  /**
   * Frozen limits of the time to the first byte. Default: from the control of the step before, as this process saw it,
   * or those it has where the step begins anew.
   */
  readonly limits?: LatencyLimits
  /** The share of units that are marked, 0 to 1. Default 1. */
  readonly sampled?: number
}

/** {@link StepStart.constants} where nobody has said any. */
export const defaultConstants: NonNullable<StepStart['constants']> = {
  errors: { p0: 0.001, p1: 0.005, alpha: 0.01, beta: 0.1 },
  cusum: 7,
  stuckMs: 30_000,
}
