/** How often something was tried and how often it went wrong. Two of them from apart merge by adding: order and grouping do not matter. */
export interface Trials {
  readonly n: number
  readonly x: number
}

/** All of them together. */
export function pooled(trials: Iterable<Trials>): Trials {
  let [n, x] = [0, 0]
  for (const each of trials) {
    n += each.n
    x += each.x
  }
  return { n, x }
}

/** The logarithm of the mean of numbers that are given by their logarithms, without overflow; −∞ for none. */
export function logMeanExp(logs: readonly number[]): number {
  const most = Math.max(...logs)
  if (!Number.isFinite(most)) return most
  return most + Math.log(logs.reduce((sum, each) => sum + Math.exp(each - most), 0) / logs.length)
}

/** `count · ln(ratio)`, and 0 for a count of 0 whatever the ratio. */
export function logTimes(count: number, ratio: number): number {
  return count === 0 ? 0 : count * Math.log(ratio)
}
