import { type FallbackReason, isEvidence } from '../../../plugins/execution-context-fallback.ts'
import { isVipTier } from '../collect/strata-names.ts'
import { logSignEvidence } from '../statistics/paired-sign.ts'
import { logFewerEvidence, logRelativeEvidence, type Stratum } from '../statistics/relative.ts'
import { logMismatchEvidence } from '../statistics/srm.ts'
import { logMeanExp, type Trials } from '../statistics/trials.ts'
import { addedUp, armTotals, type Evidence, type FirstCounts, shareOfTier } from './evidence.ts'
import {
  type AnswerCount,
  type AnswerCounts,
  type AnswerEvent,
  type ArmCounts,
  answerTrials,
  type Cell,
  type UnitEvent,
} from './evidence-counts.ts'
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
  /** M1 with at most a few bad calls of each unit. */
  readonly errorsOfMany: Trials
  /** M1 of this step, of the tiers that move last alone; where units are tenants with at most a few of each. */
  readonly vipErrors: Trials
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
    /** How answers came out, over the whole rollout. */
    readonly answers: Readonly<Record<AnswerQuestion, number>>
  }
  /** Over the whole rollout, as what is compared with the control is never forgotten. */
  readonly answers: { readonly canary: AnswerCounts; readonly control: AnswerCounts }
}

/** In what answers may be worse: each is one comparison with the control. */
export type AnswerQuestion = 'cut' | 'declined' | 'length' | 'feedback' | 'quality'

/** The events that each question asks about. */
export const answerQuestions: Readonly<Record<AnswerQuestion, readonly AnswerEvent[]>> = {
  cut: ['cut'],
  declined: ['declined'],
  length: ['short', 'long'],
  feedback: ['disliked'],
  quality: ['poor'],
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
    errorsOfMany: { n, x: canary.badOfMany ?? 0 },
    vipErrors: vipErrors(cells, constants),
    beside: { n: beside.ended ?? 0, x: beside.bad ?? 0 },
    logs: logsOf(evidence, constants),
    answers: {
      canary: addedUp(evidence.cells.map(({ canary }) => canary.answers ?? {})),
      control: addedUp(evidence.cells.map(({ control }) => control.answers ?? {})),
    },
  }
}

function vipErrors(cells: readonly Cell[], { far }: StageConstants): Trials {
  const { canary } = armTotals(cells.filter(({ tier }) => isVipTier(tier)))
  return { n: canary.ended - fallbacksOf(canary)[1], x: far ? canary.badOfMany : canary.bad }
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
    answers: answerLogs(evidence, { relative, counting }),
  }
}

function answerLogs(
  evidence: Evidence,
  { relative, counting }: Pick<StageConstants, 'relative' | 'counting'>,
): Figures['logs']['answers'] {
  const strata = (event: AnswerEvent): readonly Stratum[] =>
    counting === 'tenant' ? firsts(evidence, event) : byAnswer(evidence, event)
  const logs = Object.entries(answerQuestions).map(([question, events]) => [
    question,
    logMeanExp(events.map((event) => logRelativeEvidence(strata(event), relative))),
  ])
  return Object.fromEntries(logs)
}

function byAnswer({ cells }: Evidence, event: AnswerEvent): readonly Stratum[] {
  const of = ({ answers = {} }: ArmCounts, name: AnswerCount): number => answers[name] ?? 0
  const trials = answerTrials[event]
  return cells.map(({ canary, control }) => ({
    canary: of(canary, trials),
    control: of(control, trials),
    bad: of(canary, event) + of(control, event),
    inCanary: of(canary, event),
  }))
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
    const [inside, outside] = [canary.firsts[event] ?? none, control.firsts[event] ?? none]
    return {
      canary: inside.atRisk,
      control: outside.atRisk,
      bad: inside.first + outside.first,
      inCanary: inside.first,
    }
  })
}

/** What a record of before this event was counted says of it. */
const none: FirstCounts = { atRisk: 0, first: 0 }
