import type { Bad } from './judged-call.ts'
import { most, type Overflow } from './overflow.ts'
import type { MarkedUnit } from './unit-marks.ts'

/** Tells the first bad call of a unit from those that only repeat it. */
export interface Repeats {
  /** Whether a call of this unit that began in the same minute was bad in the same way, in the same arm of the same step, already. */
  isRepeat(call: MarkedUnit & { readonly startedAt: number }, bad: Bad): boolean
}

/**
 * Makes {@link Repeats}. One bad call counts per unit, signature and minute of the clock: what is counted then does not hang on the order
 * in which calls end. Keeps between 8,192 and 16,384 of them; a repeat of what is forgotten would count once more.
 */
export function createRepeats(overflow: Overflow): Repeats {
  let [young, old] = [new Set<string>(), new Set<string>()]
  return {
    isRepeat({ unit, step, tier, arm, startedAt }, { signature, failed }) {
      const key = `${Math.floor(startedAt / 60_000)} ${unit} ${step} ${arm} ${tier} ${failed} ${signature}`
      if (young.has(key) || old.has(key)) return true
      if (young.size >= most.repeats) {
        if (old.size > 0) overflow.add('repeats')
        old = young
        young = new Set()
      }
      young.add(key)
      return false
    },
  }
}
