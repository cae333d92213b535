import { mostBadOfUnit } from '../../proxy/folding/rollout/evidence-counts.ts'
import type { FuseId } from '../../proxy/folding/rollout/fuse.ts'
import type { StageConstants } from '../../proxy/folding/rollout/stage-constants.ts'
import { createCusum } from '../../proxy/folding/statistics/cusum.ts'
import { eventThreshold, logRelativeEvidence } from '../../proxy/folding/statistics/relative.ts'
import { createRunFuse } from '../../proxy/folding/statistics/run-of-three.ts'
import { passLine, type RateTest, sprtVerdict } from '../../proxy/folding/statistics/sprt.ts'
import type { Trials } from '../../proxy/folding/statistics/trials.ts'
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
  const fuses = createFuses(constants)
  const relative = createComparison(plan)
  const ended = { n: 0, x: 0 }
  for (;;) {
    const next = gap(random, rates[0])
    const over = endOf(plan, ended.x)
    if (ended.n + next > over.calls) return fuses.held && over.end === 'promote' ? { ...over, end: 'hold' } : over
    ended.n += next
    ended.x++
    const elsewhere = ((next * arms.control.share) / Math.max(1e-9, arms.canary.share)) * rates[1]
    const tenant = relative.hear(ended.n, poisson(random, elsewhere))
    const blown = fuses.hear(next, constants.counting === 'tenant' ? String(tenant) : String(ended.n))
    const fuse = blown ?? (relative.log() >= eventThreshold(constants.alpha.bad) ? 'F11' : undefined)
    if (fuse) return { end: 'rollback', fuse, calls: ended.n }
  }
}

interface Fuses {
  /** The errors of a few tenants hold it. */
  readonly held: boolean
  /** Hears of so many calls, of which the last was bad; gives back the fuse that takes the layer back. */
  hear(calls: number, unit: string): RaceEnd['fuse']
}

/** F3, F4 and the CUSUM, as the product has them: by tenant only a few bad calls of each count, unless it is far too many. */
function createFuses({ errors, far, cusum: threshold, step }: StageConstants): Fuses {
  const run = createRunFuse(0)
  const cusum = createCusum(errors, threshold)
  const [all, ofMany] = [
    { n: 0, x: 0 },
    { n: 0, x: 0 },
  ]
  const times = new Map<string, number>()
  const tripped = (trials: Trials, test: RateTest): boolean => sprtVerdict(trials, test) === 'trip'
  let held = false
  return {
    get held() {
      return held
    },
    hear(calls, unit) {
      const before = times.get(unit) ?? 0
      times.set(unit, before + 1)
      const counts = far === undefined || before < mostBadOfUnit
      all.n += calls
      all.x++
      ofMany.n += calls
      ofMany.x += counts ? 1 : 0
      if (calls > 1) run.hear({ unit: 'another', bad: false, startedAt: 1 })
      run.hear({ unit, bad: true, startedAt: 1 })
      cusum.add(calls - 1, counts ? 1 : 0)
      if (run.blown) return 'F3'
      if (far && tripped(all, far)) return 'F4'
      if (step !== 'S4' && tripped(far ? ofMany : all, errors)) return 'F4'
      held ||= step !== 'S4' && tripped(all, errors)
      return cusum.tripped ? 'CUSUM' : undefined
    },
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
