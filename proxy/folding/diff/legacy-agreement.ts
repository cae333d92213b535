import type { Comparison } from './comparison.ts'
import { comparisonFrom } from './comparison.ts'
import { createComparisonBook, type LayerBook } from './comparison-book.ts'
import type { IgnoreRule, Ignores } from './ignore-rules.ts'
import { type LegacyCase, legacyFindings, ourStatus, statusClass } from './legacy-finding.ts'
import type { ResponseDiffOptions } from './response-diff.ts'

/** One call that the existing chain has served. */
export interface LegacyCall extends LegacyCase, Pick<Comparison, 'call' | 'tier' | 'strata' | 'at'> {
  readonly options?: ResponseDiffOptions
}

/** How far we agree with the existing chain, as JSON. Instants are milliseconds since the epoch. */
export interface LegacyReport {
  readonly since: number
  readonly at: number
  readonly calls: number
  /** Calls by status, such as `2xx→2xx` and `401→2xx`: theirs, ours. */
  readonly statuses: Readonly<Record<string, number>>
  readonly layers: Readonly<Record<string, LayerAgreement>>
  readonly ignores: readonly IgnoreRule[]
}

/** How far one layer agrees. */
export interface LayerAgreement extends Pick<LayerBook, 'hard' | 'f1' | 'skipped' | 'signatures' | 'margins'> {
  readonly compared: number
  readonly agrees: number
  /** Of those that were compared, 0 to 1; undefined when none was. */
  readonly agreement: number | undefined
}

/** Counts how far our layers agree with the chain that serves, before we take any traffic. */
export interface LegacyAgreement {
  add(call: LegacyCall): void
  report(at: number): LegacyReport
}

/** Makes a {@link LegacyAgreement} that begins at an instant. */
export function createLegacyAgreement(since: number, ignores?: Ignores): LegacyAgreement {
  const book = createComparisonBook(ignores ? { ignores } : {})
  const statuses = new Map<string, number>()
  let calls = 0
  return {
    add(of) {
      calls++
      const status = `${statusClass(of.legacy.status)}→${statusClass(ourStatus(of))}`
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      for (const [layer, finding] of Object.entries(legacyFindings(of, of.options))) {
        book.add(comparisonFrom(finding, { ...of, layer }))
      }
    },
    report(at) {
      const { layers, ignores: rules } = book.snapshot(at)
      return {
        since,
        at,
        calls,
        statuses: Object.fromEntries([...statuses].sort((a, b) => b[1] - a[1])),
        layers: Object.fromEntries(Object.entries(layers).map(([layer, page]) => [layer, agreementOf(page)])),
        ignores: rules.active,
      }
    },
  }
}

function agreementOf({ total, hard, f1, skipped, signatures, margins }: LayerBook): LayerAgreement {
  const compared = total.equal + total.differs + total.ignored
  const agreement = compared === 0 ? undefined : total.equal / compared
  return { compared, agrees: total.equal, agreement, hard, f1, skipped, signatures, margins }
}
