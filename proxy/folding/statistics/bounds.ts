import { betaQuantile } from './beta.ts'
import type { Trials } from './trials.ts'

/**
 * The Clopper–Pearson upper bound of a rate, one-sided, at confidence `1 − alpha`: the quantile of Beta(x+1, n−x) (`canary.md` §3.10).
 * 1 without a trial, and where all were bad.
 */
export function upperBound({ n, x }: Trials, alpha = 0.05): number {
  return n <= 0 || x >= n ? 1 : betaQuantile(1 - alpha, { a: x + 1, b: n - x })
}

/** The Clopper–Pearson lower bound of a rate, one-sided, at confidence `1 − alpha`. 0 where none was bad. */
export function lowerBound({ n, x }: Trials, alpha = 0.05): number {
  return n <= 0 || x <= 0 ? 0 : betaQuantile(alpha, { a: x, b: n - x + 1 })
}

/** The fewest trials at which `x` bad ones are at most the rate `limit` with confidence `1 − alpha`: 2,995 for 0 at 0.1 %. */
export function trialsFor(x: number, limit: number, alpha = 0.05): number {
  let [low, high] = [x, Math.ceil((x + 1) / limit)]
  while (upperBound({ n: high, x }, alpha) > limit) [low, high] = [high, high * 2]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (upperBound({ n: middle, x }, alpha) > limit) low = middle
    else high = middle
  }
  return high
}

/**
 * The fewest trials at which `x` bad ones may be called at most `limit` when the count is watched: as a bound is not made for looking
 * often, looks are where none bad is enough, and at twice, four times … as many trials (`canary.md` §3.9).
 */
export function trialsWatched(x: number, limit: number, alpha = 0.05): number {
  const first = trialsFor(0, limit, alpha)
  return first * 2 ** Math.ceil(Math.log2(Math.max(1, trialsFor(x, limit, alpha) / first)))
}
