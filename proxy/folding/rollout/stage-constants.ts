import { canonicalDigest } from '../../../plugins/canonical.ts'
import { cusumThreshold } from '../statistics/cusum-run-length.ts'
import { defaultRatios, type RelativeTest } from '../statistics/relative.ts'
import type { RunRule } from '../statistics/run-of-three.ts'
import { expectedTrials, mostTrials, type RateTest } from '../statistics/sprt.ts'
import type { RolloutStep } from './evidence-counts.ts'
import { type FactsAtStart, frozenErrorRate } from './stage-start.ts'

/** What a decision in one step is held against. Frozen with a digest when the step begins; another value is another rollout. */
export interface StageConstants {
  readonly step: RolloutStep
  /**
   * What the comparison with the control counts: calls, or, where units are tenants, each tenant's first bad call. By calls a slow canary
   * trips; by tenant it only stands in the way of promotion, as calls of one tenant are slow together.
   */
  readonly counting: 'call' | 'tenant'
  /** M1 against the service's own rate; in S4 the rates of the CUSUM. */
  readonly errors: RateTest
  /**
   * Where units are tenants: what is too much for tenants' own rates to explain, however few of them there are. Absent where units are
   * conversations, and in constants of before.
   */
  readonly far?: RateTest
  /** M2 against its budget. */
  readonly fallbacks: RateTest
  /** M3, of the right version. */
  readonly mismatches: RateTest
  readonly relative: RelativeTest
  /** Chances of a false alarm of each comparison over the whole rollout. */
  readonly alpha: {
    readonly bad: number
    readonly slow: number
    readonly different: number
    readonly refused: number
    readonly aborted: number
    readonly shares: number
  }
  /** Where the CUSUM trips. */
  readonly cusum: number
  /**
   * In the last step, of the tiers that move last, which nobody has seen live before: half as much is too much for them, and two bad calls in
   * a row are. Absent in the other steps.
   */
  readonly vip?: { readonly errors: RateTest; readonly runs: RunRule }
  /** Calls without a first byte for longer than this are stuck, in milliseconds. */
  readonly stuckMs: number
  readonly needs: StageNeeds
  /** After that long without a promotion it is held, in milliseconds. */
  readonly mostMs: number
  /** After so many canary calls without a verdict on errors it is held. */
  readonly mostCalls: number
}

/** What has to have been seen, and the bounds that it has to keep, before a step is left for the next. */
export interface StageNeeds {
  readonly calls: number
  readonly units: number
  readonly tenants: number
  readonly dwellMs: number
  readonly perStratum: number
  readonly strata: readonly string[]
  /** Upper 95 % bounds of shares; absent: not asked for in this step. */
  readonly overQ95?: number
  readonly overQ99?: number
  readonly fallbacks?: number
  readonly failures?: number
  /** p99 of the canary against that of the control, from 5,000 calls in each arm. */
  readonly p99Ratio?: number
  /** Chance with which answers that are no worse than the control's stand in the way all the same, for each question about them. */
  readonly answers?: number
  /** Rules that ignore a hard difference stand in the way. */
  readonly noIgnores: boolean
  /** In shadow: the upper 95 % bound of hard differences, and the triples of whole answers; 0: whole answers are not compared. */
  readonly differences?: number
  readonly triples?: number
  /** In shadow: comparisons of the tiers that move last, of which none may differ. */
  readonly vip?: number
  /** In shadow: the share of eligible calls that were not skipped. */
  readonly compared?: number
}

const minute = 60_000
const hour = 60 * minute

const perStep = {
  shadow: { worse: 5, units: 0, tenants: 0, dwellMs: 0, mostMs: 24 * hour, strata: ['stream', 'non-stream', 'vip'] },
  S1: { worse: 5, units: 50, tenants: 5, dwellMs: 10 * minute, mostMs: 24 * hour, strata: ['stream', 'non-stream'] },
  S2: { worse: 3, units: 200, tenants: 10, dwellMs: 20 * minute, mostMs: 24 * hour, strata: ['tools', 'json'] },
  S3: { worse: 2, units: 500, tenants: 20, dwellMs: 30 * minute, mostMs: 24 * hour, strata: [] as string[] },
  S4: { worse: 5, units: 500, tenants: 20, dwellMs: 24 * hour, mostMs: 72 * hour, strata: ['vip'] },
} as const
const inS3 = ['cache-hit', 'cache-miss', 'size-small', 'size-medium', 'size-large']
const fallbackLimit = { S1: 0.01, S2: 0.005, S3: 0.003, S4: 0.001 } as const

/** In a bake a call is heard by three of them: at its gateway, at its runner, and by whoever hears all. */
const cusums = 3

/** The constants of a step, from the table of `canary.md` §3.8 and what was known when the step began. */
export function stageConstants(step: RolloutStep, facts: FactsAtStart): StageConstants {
  const { worse, mostMs } = perStep[step]
  const p0 = frozenErrorRate(facts.control)
  const errors = { p0, p1: worse * p0, alpha: 0.01, beta: 0.1 }
  const counted = step === 'S1' || step === 'S2' || step === 'S3'
  return {
    step,
    counting: facts.unit === 'tenant' ? 'tenant' : 'call',
    errors,
    ...(facts.unit === 'tenant' ? { far: { ...errors, p0: 4 * p0, p1: Math.min(0.9, 20 * p0) } } : {}),
    fallbacks: { p0: 0.005, p1: 0.02, alpha: 0.005, beta: 0.1 },
    mismatches: { p0: 0.0001, p1: 0.001, alpha: 0.01, beta: 0.1 },
    relative: { ratios: defaultRatios, tolerated: facts.tolerated ?? 1 },
    alpha: { bad: 0.01, slow: 0.01, different: 0.01, refused: 0.002, aborted: 0.002, shares: 0.00025 },
    cusum: cusumThreshold(errors, Math.max(10_000, step === 'S4' ? cusums * (facts.callsInBake ?? 0) : 0)),
    ...(step === 'S4' ? { vip: { errors: { ...errors, p1: 2 * p0 }, runs: { length: 2, ofOneUnit: 4 } } } : {}),
    stuckMs: Math.max(30_000, 5 * (facts.q99Ms ?? 0)),
    needs: step === 'shadow' ? shadowNeeds(facts) : canaryNeeds(step, errors, facts),
    mostMs,
    mostCalls: counted ? mostTrials(errors) : Number.MAX_SAFE_INTEGER,
  }
}

function shadowNeeds({ layer, triples = 0 }: FactsAtStart): StageNeeds {
  return {
    ...{ calls: 0, units: 0, tenants: 0, dwellMs: 0, noIgnores: false },
    perStratum: 100,
    strata: perStep.shadow.strata,
    differences: layer === 'auth' ? 0.0001 : 0.001,
    triples,
    vip: 300,
    compared: 0.95,
  }
}

function canaryNeeds(step: 'S1' | 'S2' | 'S3' | 'S4', errors: RateTest, facts: FactsAtStart): StageNeeds {
  const { units, tenants, dwellMs } = perStep[step]
  const late = step === 'S3' || step === 'S4'
  return {
    calls: step === 'S4' ? 10_000 : upToTwoDigits(expectedTrials(errors).good),
    units,
    tenants,
    dwellMs:
      Math.max(dwellMs, 2 * (facts.p99DurationMs ?? 0), facts.windowMs ?? 0) + (late ? (facts.cacheTtlMs ?? 0) : 0),
    perStratum: 50,
    strata: strataUpTo(step),
    overQ95: 0.08,
    ...(step === 'S1' ? {} : { overQ99: 0.02 }),
    ...(late ? { p99Ratio: 1.15 } : {}),
    fallbacks: fallbackLimit[step],
    answers: 0.01,
    ...(step === 'S4' ? { failures: 0.0001 } : {}),
    noIgnores: step !== 'S1',
  }
}

function strataUpTo(step: 'S1' | 'S2' | 'S3' | 'S4'): string[] {
  const added = [
    ['S1', perStep.S1.strata] as const,
    ['S2', perStep.S2.strata] as const,
    ['S3', inS3] as const,
    ['S4', perStep.S4.strata] as const,
  ]
  return added.filter(([each]) => each <= step).flatMap(([, strata]) => strata)
}

/** 927 as 930, 2,463 as 2,500, 7,238 as 7,300: the calls of the table. */
function upToTwoDigits(value: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(value)) - 1)
  return Math.ceil(value / unit) * unit
}

/** The digest under which constants are frozen into the record of a rollout. */
export function constantsDigest(constants: StageConstants): string {
  return canonicalDigest(constants)
}
