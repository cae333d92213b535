import { percentile } from '../bench/figures.ts'

/**
 * Between what the true quantile `p` lies, given a sample of a simulation and a published figure that came from a simulation of about
 * `theirs` runs: order statistics at three standard errors of both together (99.7 %).
 */
export function quantileRange(sample: readonly number[], p: number, theirs = 500): readonly [number, number] {
  const error = 3 * Math.sqrt(p * (1 - p) * (1 / sample.length + 1 / theirs))
  return [percentile(sample, Math.max(0, p - error)), percentile(sample, Math.min(1, p + error))]
}

/** The most that a share of at most `rate` shows in so many runs: three standard errors above it (99.9 %). */
export function mostShare(rate: number, runs: number): number {
  return rate + 3 * Math.sqrt((rate * (1 - rate)) / runs)
}

/** What a mean of these is sure to lie between: three standard errors on both sides (99.7 %). */
export function meanRange(sample: readonly number[]): readonly [number, number] {
  const mean = sample.reduce((sum, each) => sum + each, 0) / sample.length
  const spread = sample.reduce((sum, each) => sum + (each - mean) ** 2, 0) / (sample.length - 1)
  const error = 3 * Math.sqrt(spread / sample.length)
  return [mean - error, mean + error]
}
