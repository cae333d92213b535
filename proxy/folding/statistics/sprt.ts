import type { Trials } from './trials.ts'

/** What Wald's test tells apart: a rate of `p0` that is fine from one of `p1` that is not (`canary.md` §3.2). */
export interface RateTest {
  readonly p0: number
  readonly p1: number
  /** Chance to trip though the rate is `p0`. */
  readonly alpha: number
  /** Chance to pass though the rate is `p1`. */
  readonly beta: number
}

/** Where a sequential test stands: the rate is `p1`, the rate is `p0`, or it is too early to say. */
export type SprtVerdict = 'trip' | 'pass' | 'continue'

/** Wald's bounds `A = ln((1−β)/α)` and `B = ln(β/(1−α))`, and what one bad and one good trial add. */
export interface SprtTerms {
  readonly trip: number
  readonly pass: number
  readonly perBad: number
  readonly perGood: number
}

/** The {@link SprtTerms} of a test. */
export function sprtTerms({ p0, p1, alpha, beta }: RateTest): SprtTerms {
  return {
    trip: Math.log((1 - beta) / alpha),
    pass: Math.log(beta / (1 - alpha)),
    perBad: Math.log(p1 / p0),
    perGood: Math.log1p(-p1) - Math.log1p(-p0),
  }
}

/** The log-likelihood ratio `L = x·ln(p1/p0) + (n−x)·ln((1−p1)/(1−p0))`. It depends on the counts alone. */
export function logLikelihoodRatio({ n, x }: Trials, test: RateTest): number {
  const { perBad, perGood } = sprtTerms(test)
  return x * perBad + (n - x) * perGood
}

/** Wald's sequential probability ratio test on counts: may be looked at as often as one likes. Trips if L ≥ A, passes if L ≤ B. */
export function sprtVerdict(trials: Trials, test: RateTest): SprtVerdict {
  const ratio = logLikelihoodRatio(trials, test)
  const { trip, pass } = sprtTerms(test)
  return ratio >= trip ? 'trip' : ratio <= pass ? 'pass' : 'continue'
}

/** How many trials the test takes on average when the rate is `p0` (`good`) and when it is `p1` (`bad`), by Wald's equation. */
export function expectedTrials(test: RateTest): { readonly good: number; readonly bad: number } {
  const { p0, p1, alpha, beta } = test
  const { trip, pass, perBad, perGood } = sprtTerms(test)
  const drift = (p: number): number => p * perBad + (1 - p) * perGood
  return {
    good: (alpha * trip + (1 - alpha) * pass) / drift(p0),
    bad: ((1 - beta) * trip + beta * pass) / drift(p1),
  }
}

/** The most trials among which `bad` bad ones still trip; 0 where they never do. */
export function tripLine(bad: number, test: RateTest): number {
  const { trip, perBad, perGood } = sprtTerms(test)
  const good = (bad * perBad - trip) / -perGood
  return good < 0 ? 0 : Math.floor(bad + good)
}

/** The fewest trials among which `bad` bad ones pass. */
export function passLine(bad: number, test: RateTest): number {
  const { pass, perBad, perGood } = sprtTerms(test)
  return Math.ceil(bad + (bad * perBad - pass) / -perGood)
}

/** Beyond this many trials without a verdict nothing is to be expected any more: 3·E[n|p0]. Then it is a hold, not a pass. */
export function mostTrials(test: RateTest): number {
  return Math.ceil(3 * expectedTrials(test).good)
}
