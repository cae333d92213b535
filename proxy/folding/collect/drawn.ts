import type { Arm, RolloutStep } from '../rollout/evidence-counts.ts'

/** A call of a rollout as it was drawn, once. Calls whose caller chose the side are not drawn. */
export interface Drawn {
  readonly rollout: string
  readonly step: RolloutStep
  /** When the step began, in milliseconds since the epoch: calls are drawn before the controller has told of a new step. Default: as told. */
  readonly stepStartedAt?: number
  readonly tier: string
  readonly arm: Arm
  /** Short hashes, the same as on the call's span. */
  readonly unit: string
  readonly tenant: string
  /** When the call began (not the draw), in milliseconds since the epoch: the same as on its span. */
  readonly startedAt: number
  /** Asks for a stream: only those must begin soon. Default true. */
  readonly stream?: boolean
}
