import { type RateTest, sprtTerms } from './sprt.ts'

type Rates = Pick<RateTest, 'p0' | 'p1'>

/**
 * How many calls a CUSUM from 0 takes on average until it trips when a call is bad with chance `rate`: its false-alarm run length at `p0`,
 * its delay at `p1`. Solved exactly on the lattice of what a good call takes off (Page's renewal equation).
 */
export function cusumRunLength(rate: number, rates: Rates, threshold: number): number {
  const { perBad, perGood } = sprtTerms({ alpha: 0.01, beta: 0.1, ...rates })
  const up = Math.max(1, Math.round(perBad / -perGood))
  const height = Math.max(1, Math.ceil(threshold / -perGood - 1e-9))
  // a(s) = add[s] + keep[s]·a(s−1), from the top down; a bad call leads up by `up`, a good one down by 1.
  const add = new Float64Array(height)
  const keep = new Float64Array(height)
  for (let s = height - 1; s >= 1; s--) {
    const above = s + up < height ? chained(add, keep, s, up) : { add: 0, keep: 0 }
    const left = 1 - rate * above.keep
    add[s] = (1 + rate * above.add) / left
    keep[s] = (1 - rate) / left
  }
  const above = up < height ? chained(add, keep, 0, up) : { add: 0, keep: 0 }
  return (1 + rate * above.add) / (rate * (1 - above.keep))
}

/** `a(s + up)` in terms of `a(s)`. */
function chained(add: Float64Array, keep: Float64Array, s: number, up: number): { add: number; keep: number } {
  let [sum, factor] = [0, 1]
  for (let at = s + up; at > s; at--) {
    sum += factor * (add[at] as number)
    factor *= keep[at] as number
  }
  return { add: sum, keep: factor }
}

/**
 * The lowest threshold, in steps of a half from 7 to 20, at which a healthy service trips once in at least 20 bakes of so many calls. At 20 it
 * lasts for billions of them: what is busier than that trips a little more often, instead of hearing of faults ever later.
 */
export function cusumThreshold(rates: Rates, callsInBake: number): number {
  let threshold = 7
  while (threshold < 20 && cusumRunLength(rates.p0, rates, threshold) < 20 * callsInBake) threshold += 0.5
  return threshold
}
