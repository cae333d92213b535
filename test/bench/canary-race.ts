import type { FuseId } from '../../proxy/folding/rollout/fuse.ts'
import type { StageConstants } from '../../proxy/folding/rollout/stage-constants.ts'
import { createCusum } from '../../proxy/folding/statistics/cusum.ts'
import { eventThreshold, logRelativeEvidence } from '../../proxy/folding/statistics/relative.ts'
import { createRunFuse } from '../../proxy/folding/statistics/run-of-three.ts'
import { passLine, sprtVerdict } from '../../proxy/folding/statistics/sprt.ts'
import { gap, poisson, type Random } from '../support/random.ts'
import type { SimulatedArm, SimulatedArms } from './canary-traffic.ts'

/** How one simulated step ended: the fuse that blew first, or none; and the canary's calls until then. */
export interface RaceEnd {
  readonly end: 'rollback' | 'hold' | 'promote'
  readonly fuse?: FuseId | 'CUSUM'
  /** Calls of the canary. */
  readonly calls: number
}

/** What one step is run under. */
export interface RacePlan {
  readonly constants: StageConstants
  readonly arms: SimulatedArms
  /** Rates of bad calls of an average tenant in the two arms. */
  readonly canary: number
  readonly control: number
  /** Calls of the canary that the shortest stay in the step takes. */
  readonly leastCalls: number
}

/** Runs one step from one bad call of the canary to the next, every fuse on errors armed as in the product. */
export function runStep(random: Random, plan: RacePlan): RaceEnd {
  const { constants, arms } = plan
  const rates = [plan.canary, plan.control].map((rate, index) =>
    Math.min(1, rate * (index === 0 ? arms.canary : arms.control).factor),
  ) as [number, number]
  const run = createRunFuse(0)
  const cusum = createCusum(constants.errors, constants.cusum)
  const relative = createComparison(plan)
  const errors = { n: 0, x: 0 }
  const counted = constants.step !== 'S4'
  for (;;) {
    const next = gap(random, rates[0])
    const over = endOf(plan, errors.x)
    if (errors.n + next > over.calls) return over
    errors.n += next
    errors.x++
    const elsewhere = ((next * arms.control.share) / Math.max(1e-9, arms.canary.share)) * rates[1]
    const tenant = relative.hear(errors.n, poisson(random, elsewhere))
    if (next > 1) run.hear({ unit: 'another', bad: false, startedAt: 1 })
    run.hear({ unit: constants.counting === 'tenant' ? String(tenant) : String(errors.n), bad: true, startedAt: 1 })
    cusum.add(next - 1, 1)
    const rollback = (fuse: RaceEnd['fuse']): RaceEnd => ({
      end: 'rollback',
      calls: errors.n,
      ...(fuse ? { fuse } : {}),
    })
    if (run.blown) return rollback('F3')
    if (counted && sprtVerdict(errors, constants.errors) === 'trip') return rollback('F4')
    if (cusum.tripped) return rollback('CUSUM')
    if (relative.log() >= eventThreshold(constants.alpha.bad)) return rollback('F11')
  }
}

/** When the step is over if no further call is bad: when it has passed and lasted, or when there is nothing more to wait for. */
function endOf({ constants, leastCalls }: RacePlan, bad: number): RaceEnd {
  if (constants.step === 'S4') return { end: 'promote', calls: leastCalls }
  const passed = Math.max(leastCalls, constants.needs.calls, passLine(bad, constants.errors))
  const most = Math.max(leastCalls, constants.mostCalls)
  return passed > most ? { end: 'hold', calls: most } : { end: 'promote', calls: passed }
}

interface Comparison {
  /** Hears of the canary's next bad call and of those of the control since the last one; gives back its tenant. */
  hear(calls: number, elsewhere: number): number
  log(): number
}

/** The comparison with the control, by call or by each tenant's first bad call. */
function createComparison({ constants, arms: { canary, control } }: RacePlan): Comparison {
  const byTenant = constants.counting === 'tenant'
  const seen = [new Set<number>(), new Set<number>()] as const
  let stratum = { canary: 0, control: 0, bad: 0, inCanary: 0 }
  const first = (arm: SimulatedArm, known: Set<number>, count: number): void => {
    // Once everybody was bad, nothing is learnt from who is bad again.
    for (let index = 0; index < count && known.size < arm.tenants; index++) known.add(arm.pick())
  }
  return {
    hear(calls, elsewhere) {
      const tenant = canary.pick()
      seen[0].add(tenant)
      if (byTenant) {
        first(control, seen[1], elsewhere)
        const [x, y] = [seen[0].size, seen[1].size]
        stratum = { canary: canary.tenants, control: control.tenants, bad: x + y, inCanary: x }
      } else {
        stratum = {
          canary: calls,
          control: (calls * control.share) / Math.max(1e-9, canary.share),
          bad: stratum.bad + 1 + elsewhere,
          inCanary: stratum.inCanary + 1,
        }
      }
      return tenant
    },
    log: () => logRelativeEvidence([stratum], constants.relative),
  }
}
