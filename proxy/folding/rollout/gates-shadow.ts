import { lowerBound } from '../statistics/bounds.ts'
import { eventThreshold } from '../statistics/relative.ts'
import { type Gate, gateAtLeast, gateAtMost } from './gate.ts'
import { enoughOf, type GateView, watched } from './gates.ts'

/**
 * Everything that has to hold before a layer leaves its shadow (`canary.md` §2.6): hard differences at or below 0.1 % (0.01 % for auth),
 * which none in 2,995 comparisons shows, enough of every stratum that is asked for, little skipped, nothing leaked.
 */
export function shadowGates({ evidence, constants: { needs, alpha }, figures, now }: GateView): readonly Gate[] {
  const { shadow, severe, seen } = evidence
  const all = shadow.strata['all'] ?? { compared: 0, different: 0 }
  const asked = needs.strata.filter((stratum) => (seen.strata[stratum] ?? 0) > 0)
  const triples = shadow.worse + shadow.better + shadow.ties
  return [
    watched('differences', { n: all.compared, x: all.different }, needs.differences ?? 0.001),
    ...asked.map((stratum) =>
      gateAtLeast(`compared:${stratum}`, {
        value: shadow.strata[stratum]?.compared ?? 0,
        threshold: enoughOf(
          stratum === 'vip' ? (needs.vip ?? needs.perStratum) : needs.perStratum,
          seen.strata[stratum] ?? 0,
        ),
      }),
    ),
    // They get no live evidence before the last step.
    ...(asked.includes('vip') && needs.vip !== undefined
      ? [gateAtMost('differences:vip', { value: shadow.strata['vip']?.different ?? 0, threshold: 0 })]
      : []),
    gateAtMost('answers', {
      value: figures.logs.different,
      threshold: eventThreshold(alpha.different) - 1e-9,
      n: triples,
      needs: needs.triples ?? 0,
    }),
    gateAtLeast('compared', {
      value: shadow.eligible === 0 ? 0 : 1 - shadow.skipped / shadow.eligible,
      threshold: needs.compared ?? 0.95,
      n: shadow.eligible,
    }),
    gateAtMost('leaks', { value: severe.leakedEffects + severe.falseAllow + severe.crossTenant, threshold: 0 }),
    gateAtMost('mismatches', { value: figures.mismatches.x, threshold: 0 }),
    gateAtLeast('dwell', { value: now - evidence.startedAt, threshold: needs.dwellMs }),
    gateAtMost('incident', { value: evidence.incident ? 1 : 0, threshold: 0 }),
  ]
}

/** Whether so much differs in shadow that waiting will not help: even the lower 99 % bound is above what is allowed. */
export function differsForGood({ evidence: { shadow }, constants: { needs, alpha }, figures }: GateView): boolean {
  const { compared: n, different: x } = shadow.strata['all'] ?? { compared: 0, different: 0 }
  return (
    lowerBound({ n, x }, 0.01) > (needs.differences ?? 0.001) ||
    figures.logs.different >= eventThreshold(alpha.different)
  )
}
