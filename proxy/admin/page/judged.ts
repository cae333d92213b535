import type { DecisionRecord } from '../../folding/rollout/decision-record.ts'
import type { AnalysisDocument } from '../../outside/hooks/analysis.ts'
import { pageGateFrom } from './gates.ts'
import type { PageJudged } from './page-snapshot.ts'

/** What a layer that moves is judged by. */
export interface JudgedSource {
  readonly layer: string
  /** Such as `canary 10 %`. */
  readonly said: string
  readonly now: number
  /** The last decision; undefined before the first one. */
  readonly record: DecisionRecord | undefined
  readonly analysis: AnalysisDocument | undefined
  readonly autopilot: boolean
}

const verdicts = { promote: 'pass', rollback: 'fail', hold: 'inconclusive', continue: 'wait' } as const

/** What the last decision says of a layer, in words. */
export function pageJudgedFrom(source: JudgedSource): PageJudged {
  const { layer, said, now, record, analysis } = source
  const { samples = 0, needed = 0, evidenceAgeSeconds = -1 } = analysis?.data ?? {}
  const verdict = record ? verdicts[record.decision.kind] : 'wait'
  return {
    ...{ layer, said, verdict, samples, needed },
    words: wordsOf(source, verdict),
    why: record?.decision.reason ?? 'nothing was decided yet',
    // To five seconds: the age is told in whole seconds, and what stands still should not look as if it moved.
    newestAt: evidenceAgeSeconds < 0 ? null : Math.round(now / 5_000 - evidenceAgeSeconds / 5) * 5_000,
    gates: (record?.decision.gates ?? []).map(pageGateFrom),
  }
}

function wordsOf({ autopilot, analysis, record }: JudgedSource, verdict: PageJudged['verdict']): string {
  const { samples = 0, needed = 0 } = analysis?.data ?? {}
  if (!record) return 'Nothing was decided yet.'
  if (verdict === 'pass')
    return `Ready for the next step: every gate is met. ${autopilot ? 'It goes on by itself.' : 'A person promotes it.'}`
  if (verdict === 'fail') return 'Bad: it is being taken back.'
  if (verdict === 'inconclusive')
    return 'Inconclusive: neither good nor bad is proven. It stays where it is, and a person should look.'
  return samples < needed
    ? `Not enough seen yet: ${samples} of ${needed}. Nothing speaks against it so far.`
    : 'Not every gate is met yet. Nothing speaks against it so far.'
}
