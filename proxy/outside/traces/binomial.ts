/**
 * The chance of at most `k` hits in `n` draws that each hit with chance `p`. Exact, by summing; `n` up to some ten thousand. With
 * `atLeast` it makes the test that Clopper and Pearson's interval (1934) is the inverse of.
 */
export function atMost(k: number, n: number, p: number): number {
  if (k < 0) return 0
  if (k >= n || p <= 0) return 1
  if (p >= 1) return 0
  // From the chance of none, in logs, for (1 − p)ⁿ alone may be too small for a number.
  let log = n * Math.log1p(-p)
  let sum = Math.exp(log)
  const odds = Math.log(p) - Math.log1p(-p)
  for (let i = 1; i <= k; i++) {
    log += Math.log((n - i + 1) / i) + odds
    sum += Math.exp(log)
  }
  return Math.min(1, sum)
}

/** The chance of at least `k` hits in `n` draws that each hit with chance `p`. */
export function atLeast(k: number, n: number, p: number): number {
  return atMost(n - k, n, 1 - p)
}
