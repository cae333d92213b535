import { type FallbackReason, isEvidence } from '../../../plugins/execution-context-fallback.ts'
import { logSignEvidence } from '../statistics/paired-sign.ts'
import { logFewerEvidence, logRelativeEvidence, type Stratum } from '../statistics/relative.ts'
import { logMismatchEvidence } from '../statistics/srm.ts'
import { logMeanExp, type Trials } from '../statistics/trials.ts'
import { armTotals, type Evidence, shareOfTier } from './evidence.ts'
import type { ArmCounts, UnitEvent } from './evidence-counts.ts'
import type { StageConstants } from './stage-constants.ts'

/** What fuses and gates read: evidence brought into the terms of the tests. */
export interface Figures {
  /** Totals of this step. */
  readonly canary: ArmCounts
  readonly control: ArmCounts
  /** M1, M2 and M3 of this step. */
  readonly errors: Trials
  readonly fallbacks: Trials
  readonly mismatches: Trials
  /** The control in those windows of this step in which the canary was bad. */
  readonly beside: Trials
  /** Logarithms of e-processes: M1, M4, M5, M6 and M7 over the whole rollout, and the shares of units in this step. */
  readonly logs: {
    readonly bad: number
    readonly slow: number
    readonly different: number
    readonly refused: number
    readonly aborted: number
    readonly shares: number
  }
}

/** The {@link Figures} of evidence. */
export function figuresFrom(evidence: Evidence, constants: StageConstants): Figures {
  const cells = evidence.cells.filter(({ step, window }) => step === evidence.step && window >= evidence.startedAt)
  const { canary, control } = armTotals(cells)
  const beside = armTotals(cells.filter((cell) => cell.canary.bad > 0)).control
  const [caused, asked] = fallbacksOf(canary)
  // Who asked to be served here says nothing about the runner: its calls would only dilute the rates.
  const n = (canary.ended ?? 0) - asked
  return {
    canary,
    control,
    errors: { n, x: canary.bad ?? 0 },
    fallbacks: { n, x: caused },
    // Calls of the control are acknowledged as well: the layer observes them.
    mismatches: { n: n + (control.ended ?? 0), x: (canary.mismatches ?? 0) + (control.mismatches ?? 0) },
    beside: { n: beside.ended ?? 0, x: beside.bad ?? 0 },
    logs: logsOf(evidence, constants),
  }
}

/** Fallbacks that speak against the runner, and those that callers asked for. */
function fallbacksOf({ fallbacks = {} }: ArmCounts): readonly [number, number] {
  let [caused, asked] = [0, 0]
  for (const [reason, count] of Object.entries(fallbacks))
    if (isEvidence(reason as FallbackReason)) caused += count
    else asked += count
  return [caused, asked]
}

function logsOf(evidence: Evidence, { relative, counting }: StageConstants): Figures['logs'] {
  const { shadow, units, step, shares } = evidence
  const bad = counting === 'tenant' ? firsts(evidence, 'bad') : byCall(evidence, 'bad', 'ended')
  // A mean of e-processes is one, so two quantiles, and four questions about refusals, cost no second false alarm.
  const slow = (['overQ95', 'overQ99'] as const).map((over) =>
    logRelativeEvidence(byCall(evidence, over, 'timed'), relative),
  )
  const refused = (['refused', 'limited'] as const).flatMap((event) => {
    const strata = firsts(evidence, event)
    return [logRelativeEvidence(strata, relative), logFewerEvidence(strata, relative)]
  })
  // Who is drawn in one step is drawn in the next: steps are no independent samples, so only this one's units are asked.
  const assigned = units
    .filter((cell) => cell.step === step && step !== 'shadow')
    .map(({ tier, canary, control }) => ({
      canary: canary.units,
      control: control.units,
      share: shareOfTier(shares, tier),
    }))
  return {
    bad: logRelativeEvidence(bad, relative),
    slow: logMeanExp(slow),
    different: logSignEvidence(shadow),
    refused: logMeanExp(refused),
    aborted: logRelativeEvidence(firsts(evidence, 'aborted'), relative),
    shares: logMismatchEvidence(assigned),
  }
}

function byCall(
  { cells }: Evidence,
  event: 'bad' | 'overQ95' | 'overQ99',
  trials: 'ended' | 'timed',
): readonly Stratum[] {
  return cells.map(({ canary, control }) => ({
    canary: canary[trials],
    control: control[trials],
    bad: canary[event] + control[event],
    inCanary: canary[event],
  }))
}

function firsts({ units }: Evidence, event: UnitEvent): readonly Stratum[] {
  return units.map(({ canary, control }) => {
    const [inside, outside] = [canary.firsts[event], control.firsts[event]]
    return {
      canary: inside.atRisk,
      control: outside.atRisk,
      bad: inside.first + outside.first,
      inCanary: inside.first,
    }
  })
}
