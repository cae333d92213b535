import { betaAbove, betaBelow } from '../../folding/statistics/beta.ts'

/**
 * The chance of at most `k` hits in `n` draws that each hit with chance `p` (DLMF 8.17.5). With {@link atLeast} it makes the test that
 * Clopper and Pearson's interval (1934) is the inverse of.
 */
export function atMost(k: number, n: number, p: number): number {
  if (k < 0) return 0
  return k >= n ? 1 : betaAbove(p, { a: k + 1, b: n - k })
}

/** The chance of at least `k` hits in `n` draws that each hit with chance `p`. */
export function atLeast(k: number, n: number, p: number): number {
  if (k <= 0) return 1
  return k > n ? 0 : betaBelow(p, { a: k, b: n - k + 1 })
}
