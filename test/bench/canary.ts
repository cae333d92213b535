import { type StageConstants, stageConstants } from '../../proxy/folding/rollout/stage-constants.ts'
import { createRandom, type Random } from '../support/random.ts'
import { mostShare } from '../support/sampling.ts'
import { expectedCalls, firstExpected } from './canary-expected.ts'
import { type CanaryModel, type CanaryStep, stepShares } from './canary-model.ts'
import { type RaceEnd, runStep } from './canary-race.ts'
import { drawArms } from './canary-traffic.ts'
import { percentile, shown } from './figures.ts'
import { atMost, type Row, type SuiteResult, told } from './report.ts'

/** What the simulation found for one rate of bad calls in one step. */
export interface CanaryFound {
  readonly step: CanaryStep
  readonly rate: number
  readonly rollback: number
  readonly hold: number
  readonly promote: number
  /** Calls of the canary until the rollback, of those runs that ended in one. */
  readonly median: number
  readonly p90: number
  /** Seconds until then. */
  readonly medianSeconds: number
  /** By which fuse, as shares of the rollbacks. */
  readonly fuses: Readonly<Record<string, number>>
  readonly expected: { readonly name: string; readonly calls: number }
}

/** Simulates a rollout on a model of the user's traffic: how soon each rate of bad calls is found in each step, and how often none is. */
export function canary(model: CanaryModel): SuiteResult {
  const found = model.steps.flatMap((step) => [model.p0, ...model.p1].map((rate) => simulate(model, step, rate)))
  const { rate, tenants, zipf, spread, unit, runs } = model
  return {
    title: 'canary',
    method: `simulated: ${rate} calls a second of ${tenants} tenants (Zipf ${zipf}, error rates spread by ${spread}), drawn by ${unit}; ${runs} rollouts each; constants and statistics are the gateway’s own`,
    rows: found.map((each) => (each.rate === model.p0 ? falseAlarms(each, model) : detection(each))),
    measured: found,
  }
}

/** A longer stay in a step, in calls of the canary, is cut off here: nothing new would be learnt. */
const mostBaked = 5e6

/** Simulates one rate in one step. */
export function simulate(model: CanaryModel, step: CanaryStep, rate: number): CanaryFound {
  const random = createRandom(model.seed + Math.round(1e6 * rate) + step.charCodeAt(1))
  const constants = constantsFor(model, step)
  const ends = Array.from({ length: model.runs }, () => oneRun(random, { model, step, rate, constants }))
  const back = ends.filter(({ end }) => end === 'rollback')
  const share = (end: RaceEnd['end']): number => ends.filter((each) => each.end === end).length / ends.length
  const calls = back.map((each) => each.calls)
  const rates = { canary: rate, control: model.p0 }
  return {
    ...{ step, rate, rollback: share('rollback'), hold: share('hold'), promote: share('promote') },
    median: percentile(calls, 0.5),
    p90: percentile(calls, 0.9),
    medianSeconds: percentile(
      back.map((each) => each.seconds),
      0.5,
    ),
    fuses: Object.fromEntries(
      Object.entries(Object.groupBy(back, ({ fuse }) => fuse ?? '')).map(([fuse, some]) => [
        fuse,
        (some?.length ?? 0) / back.length,
      ]),
    ),
    expected: firstExpected(expectedCalls(rates, stepShares[step], constants)),
  }
}

/** The constants that the gateway would freeze for this traffic. */
function constantsFor({ unit, p0, rate }: CanaryModel, step: CanaryStep): StageConstants {
  const calls = Math.min(rate * 86_400, 1e6)
  return stageConstants(step, {
    ...{ layer: 'prompt', unit, control: { n: Math.round(calls), x: Math.round(calls * p0) } },
    callsInBake: Math.min(mostBaked, rate * stepShares[step] * 86_400),
  })
}

interface OneRun {
  readonly model: CanaryModel
  readonly step: CanaryStep
  readonly rate: number
  readonly constants: StageConstants
}

function oneRun(random: Random, { model, step, rate, constants }: OneRun): RaceEnd & { seconds: number } {
  const arms = drawArms(random, model, stepShares[step])
  const callsASecond = model.rate * arms.canary.share
  const leastCalls = Math.min(mostBaked, (callsASecond * constants.needs.dwellMs) / 1000)
  const ended = runStep(random, { constants, arms, canary: rate, control: model.p0, leastCalls })
  return { ...ended, seconds: ended.calls / callsASecond }
}

function falseAlarms(found: CanaryFound, { runs, p0 }: CanaryModel): Row {
  // F4 and F11 may each err once in 100 rollouts, the CUSUM once in 20 bakes.
  const budget = found.step === 'S4' ? 0.06 : 0.02
  const limit = Number((100 * mostShare(budget, runs)).toFixed(1))
  const held = `${percent(found.hold)} held, ${percent(found.promote)} promoted`
  return atMost(`${found.step} at ${percent(p0)}, healthy: false alarms`, 100 * found.rollback, {
    ...{ limit, unit: '%', reached: percent(found.rollback) },
    note: `${held}; budget ${percent(budget)} and three standard errors`,
  })
}

function detection(found: CanaryFound): Row {
  const { step, rate, rollback, hold, promote, median, p90, medianSeconds, expected, fuses } = found
  const by = Object.entries(fuses)
    .toSorted(([, a], [, b]) => b - a)
    .map(([fuse, share]) => `${fuse} ${percent(share)}`)
    .join(', ')
  const reached =
    rollback === 0 ? 'not found' : `${shown(median)} calls (p90 ${shown(p90)}), ${duration(medianSeconds)}`
  const formula = Number.isFinite(expected.calls) ? `${expected.name} ${shown(expected.calls)}` : 'never'
  return told(
    `${step} at ${percent(rate)}`,
    reached,
    `formula: ${formula}; found ${percent(rollback)}, held ${percent(hold)}, let through ${percent(promote)}${by ? `; by ${by}` : ''}`,
  )
}

const percent = (share: number): string => `${shown(100 * share)} %`

function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return '–'
  if (seconds < 120) return `${shown(seconds)} s`
  return seconds < 7_200 ? `${shown(seconds / 60)} min` : `${shown(seconds / 3_600)} h`
}
