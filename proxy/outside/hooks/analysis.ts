import type { RolloutView } from './rollout-view.ts'

/**
 * The document behind `/-/analysis?layer=` for the web metric of Argo Rollouts. With `jsonPath: "{$.data}"`:
 * `successCondition: result.value > 0`, `failureCondition: result.value < 0`; neither is inconclusive, and the rollout pauses.
 */
export interface AnalysisDocument {
  readonly data: {
    readonly layer: string
    /** 1 pass, −1 fail, 0 inconclusive: a number, so that no condition meets a null. */
    readonly value: 1 | 0 | -1
    readonly ok: boolean
    readonly verdict: RolloutView['verdict']
    readonly why: string
    readonly stage: string
    readonly weight: number
    readonly samples: number
    readonly needed: number
    /** Share of good calls, 0 to 1; −1 while there is none: an absence is never read as a zero or as a success. */
    readonly successPercent: number
    /** Share of compared answers that differed, 0 to 1; −1 while nothing was compared. */
    readonly diffRate: number
    /** Whole seconds; −1 while there is none. */
    readonly evidenceAgeSeconds: number
  }
}

const values = { pass: 1, inconclusive: 0, fail: -1 } as const

/** How a layer's rollout goes, for machines. A layer that is held or not moving is judged no better than inconclusive. */
export function analysisFrom(view: RolloutView): AnalysisDocument {
  const verdict = view.verdict === 'pass' && view.held ? 'inconclusive' : view.verdict
  const { layer, stage, weight, samples, needed } = view
  const rate = (part: number, of: number): number => (of === 0 ? -1 : part / of)
  return {
    data: {
      layer,
      value: values[verdict],
      ok: verdict === 'pass',
      verdict,
      why: verdict === view.verdict ? view.why : `on hold; ${view.why}`,
      ...{ stage, weight, samples, needed },
      successPercent: rate(samples - view.bad, samples),
      diffRate: rate(view.different, view.compared),
      evidenceAgeSeconds: view.evidenceAgeMs === null ? -1 : Math.floor(view.evidenceAgeMs / 1_000),
    },
  }
}
