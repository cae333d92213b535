import { gap, type Random } from '../../../test/support/random.ts'
import { eventThreshold, logRelativeEvidence, type RelativeTest, type Stratum } from './relative.ts'
import { logLikelihoodRatio, passLine, type RateTest, sprtTerms } from './sprt.ts'

/** How one simulated test ended, and after how many calls of the canary. */
export interface Ended {
  readonly tripped: boolean
  readonly calls: number
}

/** One run of Wald's test at a true rate, from bad call to bad call. */
export function runSprt(random: Random, rate: number, test: RateTest): Ended {
  const { trip } = sprtTerms(test)
  let n = 0
  for (let x = 0; ; x++) {
    const next = n + gap(random, rate)
    if (next > passLine(x, test)) return { tripped: false, calls: passLine(x, test) }
    n = next
    if (logLikelihoodRatio({ n, x: x + 1 }, test) >= trip) return { tripped: true, calls: n }
  }
}

/** One step of a ramp: the canary's share of this many calls, and how often each arm goes wrong. */
export interface RampStep {
  readonly share: number
  readonly calls: number
  readonly canary: number
  readonly control: number
}

/** A third each of so many calls at 1, 10 and 50 %. */
export function ramp(calls: number, rates: { canary: number; control: number }): RampStep[] {
  return [0.01, 0.1, 0.5].map((share) => ({ share, calls: calls / 3, ...rates }))
}

/** One run of the e-process over a ramp, looked at after every bad call of either arm. */
export function runRelative(random: Random, steps: readonly RampStep[], test: RelativeTest & { alpha: number }): Ended {
  const strata: { -readonly [Key in keyof Stratum]: number }[] = []
  let before = 0
  for (const { share, calls, canary, control } of steps) {
    const stratum = { canary: 0, control: 0, bad: 0, inCanary: 0 }
    strata.push(stratum)
    const rate = share * canary + (1 - share) * control
    for (let at = gap(random, rate); at <= calls; at += gap(random, rate)) {
      // The share that was meant stands for the share that was: it is what the arms have on average.
      stratum.canary = share * at
      stratum.control = at - stratum.canary
      stratum.bad++
      if (random() * rate < share * canary) stratum.inCanary++
      if (logRelativeEvidence(strata, test) >= eventThreshold(test.alpha))
        return { tripped: true, calls: Math.round(before + share * at) }
    }
    before += share * calls
  }
  return { tripped: false, calls: before }
}
