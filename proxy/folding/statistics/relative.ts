import { logMeanExp, logTimes } from './trials.ts'

/**
 * One stratum of a comparison between two arms that ran at the same time: how many trials each had, how often it went wrong in both
 * together, and how often of that in the canary. Trials are calls, or for layers that are drawn by tenant the tenants that were active,
 * each counted as bad at most once: calls of one tenant go wrong together, and counting them one by one raises false alarms from 1 % to
 * 9–22 % (`canary.md` §3.3).
 */
export interface Stratum {
  readonly canary: number
  readonly control: number
  /** Bad events of both arms. */
  readonly bad: number
  /** Those of them in the canary. */
  readonly inCanary: number
}

/** What the comparison looks for, frozen for a rollout. */
export interface RelativeTest {
  /** How many times worse the canary may be: the alternatives that are mixed. */
  readonly ratios: readonly number[]
  /** How much worse it may be without counting as worse, 1 to 1.25. */
  readonly tolerated: number
}

/** The alternatives of `canary.md` §3.3. */
export const defaultRatios: readonly number[] = [1.5, 2, 3, 5, 10, 20]

/** For each alternative the logarithm of its likelihood ratio. Sums of strata from apart are the sum of all, so they merge by adding. */
export function logRatios(strata: Iterable<Stratum>, { ratios, tolerated }: RelativeTest): number[] {
  const sums = ratios.map(() => 0)
  for (const { canary, control, bad, inCanary } of strata) {
    if (canary <= 0 || control <= 0 || bad <= 0) continue
    const share = (tolerated * canary) / (tolerated * canary + control)
    ratios.forEach((ratio, index) => {
      const odds = ratio * share + 1 - share
      // θ/w = R/odds and (1−θ)/(1−w) = 1/odds.
      sums[index]! += logTimes(inCanary, ratio) - bad * Math.log(odds)
    })
  }
  return sums
}

/**
 * The logarithm of the conditional e-process `E = mean_j Π_s (θ_j/w)^x ((1−θ_j)/(1−w))^(k−x)` against "the canary is at most `tolerated`
 * times as bad as the control". Whatever the common rate does over time, it may be looked at as often as one likes over a whole rollout;
 * it is never reset. Trip where it is at least {@link eventThreshold}.
 */
export function logRelativeEvidence(strata: Iterable<Stratum>, test: RelativeTest): number {
  return logMeanExp(logRatios(strata, test))
}

/** The same with the arms exchanged: evidence that something happens *less* often in the canary. */
export function logFewerEvidence(strata: readonly Stratum[], test: RelativeTest): number {
  return logRelativeEvidence(
    strata.map((each) => ({
      canary: each.control,
      control: each.canary,
      bad: each.bad,
      inCanary: each.bad - each.inCanary,
    })),
    test,
  )
}

/** Where an e-process trips: at `ln(1/α)`, by Ville's inequality. */
export function eventThreshold(alpha: number): number {
  return -Math.log(alpha)
}

/**
 * About how many calls the canary takes until the comparison trips, for rates of the two arms and the canary's share of the calls: the
 * threshold and the price of mixing, divided by what a call adds on average under the alternative that grows fastest; no fewer than the bad
 * calls that it takes at the very least. Infinity where nothing grows.
 */
export function callsToDetect(
  rates: { readonly canary: number; readonly control: number },
  share: number,
  { ratios, tolerated, alpha }: RelativeTest & { readonly alpha: number },
): number {
  const given = (tolerated * share) / (tolerated * share + 1 - share)
  const badACall = rates.canary + ((1 - share) / share) * rates.control
  const growth = Math.max(
    ...ratios.map((ratio) => rates.canary * Math.log(ratio) - badACall * Math.log(ratio * given + 1 - given)),
  )
  const way = eventThreshold(alpha) + Math.log(ratios.length)
  const fewestBad = Math.ceil(way / Math.log(Math.max(...ratios)))
  return growth <= 0 ? Number.POSITIVE_INFINITY : Math.max(way / growth, fewestBad / rates.canary)
}
