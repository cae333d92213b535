import type { StageConstants } from '../../proxy/folding/rollout/stage-constants.ts'
import { cusumRunLength } from '../../proxy/folding/statistics/cusum-run-length.ts'
import { callsToDetect } from '../../proxy/folding/statistics/relative.ts'
import { callsBetweenRuns } from '../../proxy/folding/statistics/run-of-three.ts'
import { sprtTerms } from '../../proxy/folding/statistics/sprt.ts'

/** What the formulas say of a rate of bad calls: calls of the canary until each fuse blows, on average. Infinity: never. */
export interface ExpectedCalls {
  readonly sprt: number
  readonly relative: number
  readonly run: number
  readonly cusum: number
}

/** {@link ExpectedCalls} of a canary at this rate beside a control at that one, at a share of the calls. */
export function expectedCalls(
  rates: { readonly canary: number; readonly control: number },
  share: number,
  { errors, relative, alpha, cusum, step }: StageConstants,
): ExpectedCalls {
  const { trip, perBad, perGood } = sprtTerms(errors)
  const drift = rates.canary * perBad + (1 - rates.canary) * perGood
  return {
    sprt: drift <= 0 || step === 'S4' ? Number.POSITIVE_INFINITY : Math.max(3, trip / drift),
    relative: callsToDetect(rates, share, { ...relative, alpha: alpha.bad }),
    run: callsBetweenRuns(rates.canary),
    cusum: cusumRunLength(Math.min(rates.canary, 0.999), errors, cusum),
  }
}

/** The fuse that should be first, and its calls. */
export function firstExpected(expected: ExpectedCalls): { readonly name: string; readonly calls: number } {
  const names = { sprt: 'F4', relative: 'F11', run: 'F3', cusum: 'CUSUM' } as const
  return (Object.keys(names) as (keyof typeof names)[])
    .map((key) => ({ name: names[key], calls: expected[key] }))
    .reduce((best, each) => (each.calls < best.calls ? each : best))
}
