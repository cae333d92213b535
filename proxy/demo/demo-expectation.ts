import type { StageConstants } from '../folding/rollout/stage-constants.ts'
import { callsBetweenRuns } from '../folding/statistics/run-of-three.ts'
import { sprtTerms } from '../folding/statistics/sprt.ts'

/**
 * How many calls of a canary pass on average until it is taken back, where one of two runners breaks with this chance: the sooner of three
 * in a row at that runner, and of the test of the error rate, there and over both (Wald's equation). Rounded up to a whole call.
 */
export function expectedCanaryCalls(fault: number, { errors }: Pick<StageConstants, 'errors'>): number {
  return Math.ceil(
    Math.min(2 * callsBetweenRuns(fault), 2 * testedAfter(fault, errors), testedAfter(fault / 2, errors)),
  )
}

function testedAfter(rate: number, errors: StageConstants['errors']): number {
  const { trip, perBad, perGood } = sprtTerms(errors)
  const drift = rate * perBad + (1 - rate) * perGood
  return drift > 0 ? trip / drift : Number.POSITIVE_INFINITY
}
