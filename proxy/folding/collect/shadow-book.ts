import type { Comparison } from '../diff/comparison.ts'
import { answerLayer } from '../diff/comparison.ts'
import type { PairOutcome } from '../diff/pair-outcome.ts'
import type { Counted } from '../diff/tally.ts'
import type { SevereCounts, ShadowCounts } from '../rollout/evidence-counts.ts'
import { strataNames } from './strata-names.ts'

/** What may not happen once. */
export type SevereKind = keyof SevereCounts

/** What was compared in a rollout, and what must not happen once. */
export interface ShadowBook {
  /** A comparison of the layer's boundary; `as`: what the comparison book counted it as. Comparisons of whole answers are heard by `paired`. */
  compared(comparison: Comparison, as?: Counted): void
  /** A triple of whole answers. */
  paired(outcome: Pick<PairOutcome, 'differs'>): void
  severe(kind: SevereKind): void
  shadow(): ShadowCounts
  severeCounts(): SevereCounts
}

/** Makes a {@link ShadowBook}. A difference is hard when it is of class H and nobody answers for it. */
export function createShadowBook(isVip: (tier: string) => boolean): ShadowBook {
  let [eligible, skipped] = [0, 0]
  const strata: Record<string, { compared: number; different: number }> = {}
  const pairs = { worse: 0, better: 0, ties: 0 }
  const severe: Record<SevereKind, number> = { falseAllow: 0, crossTenant: 0, leakedEffects: 0, billing: 0 }
  const count = (stratum: string, hard: boolean): void => {
    strata[stratum] ??= { compared: 0, different: 0 }
    const counts = strata[stratum]
    counts.compared++
    if (hard) counts.different++
  }
  return {
    compared(comparison, as) {
      if (comparison.layer === answerLayer) return
      if (comparison.verdict === 'skipped') {
        if (comparison.reason === 'not-drawn') return
        eligible++
        skipped++
        return
      }
      eligible++
      const differs = comparison.verdict === 'differs'
      const hard = differs && as !== 'ignored' && comparison.class === 'H'
      for (const stratum of ['all', ...strataNames(comparison.strata, isVip(comparison.tier))]) count(stratum, hard)
      if (differs && comparison.f1 === 'auth-false-allow') severe.falseAllow++
      if (differs && comparison.f1 === 'cross-tenant-key') severe.crossTenant++
    },
    paired({ differs }) {
      if (differs === undefined) pairs.ties++
      else if (differs === 1) pairs.worse++
      else pairs.better++
    },
    severe(kind) {
      severe[kind]++
    },
    shadow: () => ({
      eligible,
      skipped,
      strata: Object.fromEntries(Object.entries(strata).map(([name, counts]) => [name, { ...counts }])),
      ...pairs,
    }),
    severeCounts: () => ({ ...severe }),
  }
}
