import { trialsWatched, upperBound } from '../statistics/bounds.ts'
import { eventThreshold } from '../statistics/relative.ts'
import { logLikelihoodRatio, sprtTerms } from '../statistics/sprt.ts'
import type { Evidence } from './evidence.ts'
import { type AnswerEvent, answerTrials } from './evidence-counts.ts'
import { type AnswerQuestion, answerQuestions, type Figures } from './figures.ts'
import { type Gate, gateAtLeast, gateAtMost } from './gate.ts'
import type { StageConstants } from './stage-constants.ts'

/** What the gates look at. */
export interface GateView {
  readonly evidence: Evidence
  readonly constants: StageConstants
  readonly figures: Figures
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** Everything that has to hold before a layer leaves a step of its canary (`canary.md` §3.8). All are told, whatever the others say. */
export function canaryGates(view: GateView): readonly Gate[] {
  return [
    ...enoughSeen(view),
    ...errorGates(view),
    ...latencyGates(view),
    ...answerGates(view),
    ...coverageGates(view),
    ...mustBeNone(view),
  ]
}

/**
 * How many units it takes: as many as the table says, but no more than 80 % of those that were seen in 24 hours, so that a team with few
 * tenants can promote too; at least one.
 */
export function enoughOf(table: number, seen: number): number {
  return Math.max(1, Math.min(table, Math.ceil(0.8 * seen)))
}

function enoughSeen({ evidence, constants: { needs, step }, figures, now }: GateView): Gate[] {
  const here = evidence.units.filter((cell) => cell.step === evidence.step)
  const count = (what: 'units' | 'tenants'): number => here.reduce((sum, { canary }) => sum + canary[what], 0)
  const dwell = now - evidence.startedAt
  // The last step is also long enough after a day, where 10,000 calls do not come by.
  const calls = step === 'S4' && dwell >= needs.dwellMs ? 1 : needs.calls
  return [
    gateAtLeast('calls', { value: figures.errors.n, threshold: calls }),
    gateAtLeast('units', {
      value: count('units') / Math.max(1e-6, evidence.sampled),
      threshold: enoughOf(needs.units, evidence.seen.units),
    }),
    gateAtLeast('tenants', { value: count('tenants'), threshold: enoughOf(needs.tenants, evidence.seen.tenants) }),
    gateAtLeast('dwell', { value: dwell, threshold: needs.dwellMs }),
  ]
}

function errorGates({
  evidence,
  constants,
  figures: { errors, fallbacks, mismatches, canary, logs },
}: GateView): Gate[] {
  const { needs, step, alpha } = constants
  const gates = [
    gateAtMost('errors-relative', { value: logs.bad, threshold: under(alpha.bad), n: errors.n }),
    gateAtMost('mismatches', { value: mismatches.x, threshold: 0, n: mismatches.n }),
    ...bounded('fallbacks', fallbacks, needs.fallbacks),
  ]
  if (step === 'S4') {
    gates.push(gateAtMost('cusum', { value: evidence.cusumPeak, threshold: constants.cusum, n: errors.n }))
  } else {
    const { pass } = sprtTerms(constants.errors)
    const value = logLikelihoodRatio(errors, constants.errors)
    gates.push(gateAtMost('errors', { value, threshold: pass, n: errors.n, needs: needs.calls }))
  }
  if (needs.failures !== undefined) {
    const failed = { n: errors.n, x: canary.failed ?? 0 }
    gates.push(watched('failures', failed, needs.failures))
  }
  return gates
}

/** A rate that must be at most a limit, where the bound is looked at after none bad is enough, twice, four times … as many. */
export function watched(name: string, trials: { n: number; x: number }, limit: number): Gate {
  const needs = trialsWatched(trials.x, limit)
  return gateAtMost(name, { value: upperBound(trials), threshold: limit, n: trials.n, needs })
}

function bounded(name: string, trials: { n: number; x: number }, limit: number | undefined): Gate[] {
  // Looks lie between the fewest calls and the most, which are less than two doublings apart: that bounds what looking often costs.
  return limit === undefined ? [] : [gateAtMost(name, { value: upperBound(trials), threshold: limit, n: trials.n })]
}

const fewestForRatio = 5_000

function latencyGates({ evidence: { p99 }, constants: { needs, alpha }, figures: { canary, logs } }: GateView): Gate[] {
  const n = canary.timed ?? 0
  const gates = [
    gateAtMost('latency-relative', { value: logs.slow, threshold: under(alpha.slow), n }),
    ...bounded('over-p95', { n, x: canary.overQ95 ?? 0 }, needs.overQ95),
    ...bounded('over-p99', { n, x: canary.overQ99 ?? 0 }, needs.overQ99),
  ]
  if (needs.p99Ratio !== undefined) {
    const value = p99 ? p99.canaryMs / Math.max(1e-6, p99.controlMs) : Number.MAX_VALUE
    gates.push(gateAtMost('p99-ratio', { value, threshold: needs.p99Ratio, n: p99?.calls ?? 0, needs: fewestForRatio }))
  }
  return gates
}

/** So many answers of the canary are looked at before the last step is left, where the control has given ten times as many. */
const mostAnswers = 300

/** Quality, refusals, length, endings by length and what callers say (R25): not shown to be worse than the control's. */
function answerGates({ constants: { needs, step }, figures: { logs, answers } }: GateView): Gate[] {
  const chance = needs.answers
  if (chance === undefined) return []
  const least = Math.min(mostAnswers, Math.ceil((answers.control.looked ?? 0) / 10))
  return Object.entries(answerQuestions).flatMap(([question, [event]]) => {
    const trials = answerTrials[event as AnswerEvent]
    // What nobody says cannot be waited for.
    if (!answers.canary[trials] && !answers.control[trials]) return []
    return gateAtMost(`answers:${question}`, {
      value: logs.answers[question as AnswerQuestion],
      threshold: under(chance),
      n: answers.canary[trials] ?? 0,
      needs: step === 'S4' && trials === 'looked' ? least : 0,
    })
  })
}

function coverageGates({ evidence: { coverage, seen }, constants: { needs } }: GateView): Gate[] {
  // What nobody asks for cannot be waited for.
  const asked = needs.strata.filter((stratum) => (seen.strata[stratum] ?? 0) > 0)
  return asked.map((stratum) =>
    gateAtLeast(`coverage:${stratum}`, {
      value: coverage[stratum] ?? 0,
      threshold: enoughOf(needs.perStratum, seen.strata[stratum] ?? 0),
    }),
  )
}

function mustBeNone({ evidence, constants: { needs }, figures: { canary } }: GateView): Gate[] {
  const assigned = canary.assigned ?? 0
  const accounted = (canary.ended ?? 0) + evidence.inFlight
  return [
    gateAtLeast('telemetry', {
      value: assigned === 0 ? 0 : accounted / assigned,
      threshold: 0.99,
      n: assigned,
      needs: 1,
    }),
    gateAtMost('incident', { value: evidence.incident ? 1 : 0, threshold: 0, n: 0 }),
    gateAtMost('ignores', { value: needs.noIgnores ? evidence.ignores : 0, threshold: 0, n: 0 }),
  ]
}

/** Just below where an e-process trips: there the fuse has it. */
const under = (alpha: number): number => eventThreshold(alpha) - 1e-9
