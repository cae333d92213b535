/** The value below which the share `p` of the numbers lies, by nearest rank; NaN for none. */
export function percentile(numbers: readonly number[], p: number): number {
  if (numbers.length === 0) return Number.NaN
  const sorted = Float64Array.from(numbers).sort()
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(p * sorted.length) - 1))] as number
}

/** The middle of the numbers; of an even count the mean of the two in the middle; NaN for none. */
export function median(numbers: readonly number[]): number {
  if (numbers.length === 0) return Number.NaN
  const sorted = Float64Array.from(numbers).sort()
  const half = sorted.length / 2
  const upper = sorted[Math.floor(half)] as number
  return Number.isInteger(half) ? ((sorted[half - 1] as number) + upper) / 2 : upper
}

/** The sum of the numbers divided by their count; NaN for none. */
export function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0) / numbers.length
}

/** A number for reading: three significant digits, thousands apart. */
export function shown(value: number): string {
  if (!Number.isFinite(value)) return '–'
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US')
  return String(Number(value.toPrecision(3)))
}
