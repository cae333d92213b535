import { type RateTest, sprtTerms } from './sprt.ts'

/**
 * A sum of evidence that forgets what was good: `S ← max(0, S + llr)`, trip at `threshold` (`canary.md` §3.5). It finds what begins late,
 * where a test that is never reset has collected credit. It depends on the order of calls, so it is local to one process.
 */
export interface Cusum {
  /** The sum now, and the highest it ever was. */
  readonly value: number
  readonly peak: number
  /** It has reached its threshold once; it stays so. */
  readonly tripped: boolean
  /** Hears of `good` good calls, then `bad` bad ones. */
  add(good: number, bad: number): void
}

/** Makes a {@link Cusum} for the rates of a test; the test's error chances do not matter. */
export function createCusum(test: Pick<RateTest, 'p0' | 'p1'>, threshold: number): Cusum {
  const { perBad, perGood } = sprtTerms({ alpha: 0.01, beta: 0.1, ...test })
  let [value, peak] = [0, 0]
  return {
    get value() {
      return value
    },
    get peak() {
      return peak
    },
    get tripped() {
      return peak >= threshold
    },
    add(good, bad) {
      value = Math.max(0, value + good * perGood) + bad * perBad
      peak = Math.max(peak, value)
    },
  }
}
