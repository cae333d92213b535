import type { RolloutStep } from '../../proxy/folding/rollout/evidence-counts.ts'

/** A step of the canary. */
export type CanaryStep = Exclude<RolloutStep, 'shadow'>

/** The traffic that a canary is simulated on, and what is wrong with it. */
export interface CanaryModel {
  /** Calls a second, of all tenants together. */
  readonly rate: number
  readonly tenants: number
  /** Exponent of Zipf's law for the tenants' shares of the calls; 0: all alike. */
  readonly zipf: number
  /** How far tenants' own error rates lie apart: the deviation of their logarithm. */
  readonly spread: number
  /** By what calls are drawn into the canary. */
  readonly unit: 'tenant' | 'conversation'
  /** The rate of bad calls of a healthy service. */
  readonly p0: number
  /** Rates of bad calls of a canary that is broken. */
  readonly p1: readonly number[]
  readonly steps: readonly CanaryStep[]
  /** Rollouts that are simulated for each rate and step. */
  readonly runs: number
  readonly seed: number
}

const allSteps: readonly CanaryStep[] = ['S1', 'S2', 'S3', 'S4']

/** The share of units in each step. */
export const stepShares: Readonly<Record<CanaryStep, number>> = { S1: 0.01, S2: 0.1, S3: 0.5, S4: 0.98 }

/** How the traffic is given on the command line. */
export const canaryFlags = {
  rate: { type: 'string' },
  tenants: { type: 'string' },
  zipf: { type: 'string' },
  spread: { type: 'string' },
  unit: { type: 'string' },
  p0: { type: 'string' },
  p1: { type: 'string' },
  stage: { type: 'string' },
  runs: { type: 'string' },
  seed: { type: 'string' },
} as const

/** The flags in words. */
export const canaryUsage = `  of the suite canary, all for the traffic that it simulates:
  --rate 50 --tenants 300 --zipf 1 --spread 0 --unit tenant|conversation --p0 0.001 --p1 0.002,0.005,0.05,1 --stage S1,S2,S3,S4
  --runs 1000 --seed 1`

/** The model that flags give. Throws a `TypeError` for what is none. */
export function canaryModel(
  flags: Readonly<Partial<Record<keyof typeof canaryFlags, string>>>,
  quick: boolean,
): CanaryModel {
  const number = (name: keyof typeof canaryFlags, otherwise: number, least = 0): number => {
    const value = Number(flags[name] ?? otherwise)
    if (!(value >= least)) throw new TypeError(`--${name} must be a number from ${least} on`)
    return value
  }
  const steps = flags.stage?.split(',') ?? allSteps
  const unknown = steps.find((step) => !allSteps.includes(step as CanaryStep))
  if (unknown !== undefined) throw new TypeError(`--stage "${unknown}" is none of ${allSteps.join(' ')}`)
  const unit = flags.unit ?? 'conversation'
  if (unit !== 'tenant' && unit !== 'conversation') throw new TypeError('--unit is tenant or conversation')
  const p1 = (flags.p1 ?? '0.002,0.003,0.005,0.01,0.05,0.5,1').split(',').map(Number)
  if (!p1.every((each) => each > 0 && each <= 1)) throw new TypeError('--p1 is a list of rates from 0 to 1')
  const p0 = number('p0', 0.001)
  if (p0 <= 0 || p0 > 0.05) throw new TypeError('--p0 is a rate from 0 to 0.05')
  return {
    rate: number('rate', 50, 1e-6),
    tenants: Math.round(number('tenants', 300, 1)),
    zipf: number('zipf', 1),
    spread: number('spread', 0),
    ...{ unit, p0, p1, steps: steps as CanaryStep[] },
    runs: Math.round(number('runs', quick ? 200 : 1_000, 10)),
    seed: Math.round(number('seed', 1)),
  }
}
