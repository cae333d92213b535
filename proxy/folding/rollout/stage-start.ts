import { upperBound } from '../statistics/bounds.ts'
import type { Trials } from '../statistics/trials.ts'
import type { RolloutStep } from './evidence-counts.ts'

/** What is known of the service when a step begins. What is absent is taken as nothing. */
export interface FactsAtStart {
  readonly layer: string
  /** By what calls are drawn into the canary. */
  readonly unit: 'tenant' | 'conversation'
  /** Calls of the control over the last 24 hours at the same time of day, and those that went wrong. */
  readonly control: Trials
  /** p99 of the time to the first byte of the control, in milliseconds. */
  readonly q99Ms?: number
  /** p99 of how long a call takes, in milliseconds. */
  readonly p99DurationMs?: number
  /** One window of the limits, in milliseconds. */
  readonly windowMs?: number
  /** How long cached answers live, in milliseconds. */
  readonly cacheTtlMs?: number
  /** Calls that will be seen while the last step bakes. Default 10,000 ÷ 3: with so few, the lowest threshold does. */
  readonly callsInBake?: number
  /** How much worse than the control is tolerated, 1 to 1.25. Default 1. */
  readonly tolerated?: number
  /** Triples of whole answers that the shadow must have compared: 1,000 where they are compared, else 0 (default). */
  readonly triples?: number
}

/** Between these a service's own rate is believed. */
export const errorRateRange = { floor: 0.001, ceiling: 0.05 } as const
/** Below so many calls a bound says more about how few they were than about the service. */
const fewestCalls = 2_000

/**
 * The rate `p0` that a service is allowed: the upper 90 % bound of what its control did, at least 0.1 % and at most 5 %. With fewer than
 * 2,000 calls it is the floor: then both arms may trip, which holds and blames nobody.
 */
export function frozenErrorRate(control: Trials): number {
  if (control.n < fewestCalls) return errorRateRange.floor
  return Math.min(errorRateRange.ceiling, Math.max(errorRateRange.floor, upperBound(control, 0.1)))
}

/** The step that a canary's share is: the last of the configured shares is S4, the others are S1 to S3 in their order. */
export function canaryStep(weight: number, shares: readonly number[]): Exclude<RolloutStep, 'shadow'> {
  const index = shares.findIndex((share) => share >= weight)
  if (index === -1 || index === shares.length - 1) return 'S4'
  return (['S1', 'S2', 'S3'] as const)[Math.min(2, index)]!
}
