import { logMeanExp, logTimes } from './trials.ts'

/**
 * Outcomes of triples: the served answer, the old path's again, the new path's. `worse` counts the triples in which only the new path's
 * answer differs from the served one, `better` those in which only the old path's second answer does. Ties are left out.
 */
export interface SignCounts {
  readonly worse: number
  readonly better: number
}

/** The alternatives of `canary.md` §2.4: how often a discordant triple speaks against the new path. */
export const signAlternatives: readonly number[] = [0.55, 0.6, 0.65, 0.7, 0.8, 0.9, 0.98]

/**
 * About how many discordant triples it takes to trip when a share `worse` of them speaks against the new path: the threshold `ln(1/α)` and
 * the price of mixing, divided by what one adds on average. Infinity where none adds.
 */
export function pairsToDetect(worse: number, alpha: number, alternatives = signAlternatives): number {
  const growth = Math.max(...alternatives.map((theta) => logSignEvidence({ worse, better: 1 - worse }, [theta])))
  return growth <= 0 ? Number.POSITIVE_INFINITY : (Math.log(alternatives.length) - Math.log(alpha)) / growth
}

/**
 * The logarithm of the paired sign e-process `E = mean_j Π 2·θ_j^X (1−θ_j)^(1−X)` against "the new path's answer is as good as the old
 * path's second one". It needs no threshold and no estimate of the noise, and may be looked at as often as one likes.
 */
export function logSignEvidence({ worse, better }: SignCounts, alternatives = signAlternatives): number {
  return logMeanExp(alternatives.map((theta) => logTimes(worse, 2 * theta) + logTimes(better, 2 * (1 - theta))))
}
