import { logMeanExp, logTimes } from './trials.ts'

/** How many distinct units of one tier and step went to each arm, and the share that was meant to go to the canary, 0 to 1. */
export interface Assigned {
  readonly canary: number
  readonly control: number
  readonly share: number
}

/** By how much the odds of the canary may be off: the alternatives that are mixed, as many down as up. */
export const srmRatios: readonly number[] = [0.1, 0.33, 0.5, 0.67, 0.8, 0.9, 1.1, 1.25, 1.5, 2, 3, 10]

/**
 * The logarithm of an e-process against "units go to the canary as often as they should": a sample ratio mismatch says that assignment,
 * or the counting, is broken, and then no other figure can be trusted (`canary.md` §3.7, F8). A mixture of binomials over
 * {@link srmRatios}; it may be looked at as often as one likes. Counts units, never calls: calls of a unit go one way together.
 */
export function logMismatchEvidence(assigned: Iterable<Assigned>, ratios = srmRatios): number {
  const sums = ratios.map(() => 0)
  for (const { canary, control, share } of assigned) {
    // Whoever is not meant to be split and is, is proof enough.
    if ((share <= 0 && canary > 0) || (share >= 1 && control > 0)) return Number.POSITIVE_INFINITY
    if (share <= 0 || share >= 1) continue
    ratios.forEach((ratio, index) => {
      sums[index]! += logTimes(canary, ratio) - (canary + control) * Math.log(ratio * share + 1 - share)
    })
  }
  return logMeanExp(sums)
}
