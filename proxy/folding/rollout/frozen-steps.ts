import type { Log } from '../../../plugins/host.ts'
import type { JsonObject } from '../../../plugins/jws-json.ts'
import { type LatencyLimits, limitsFromFlushes } from '../collect/latency-limits.ts'
import type { RolloutState } from '../state/state.ts'
import { armTotals } from './evidence.ts'
import type { Cell, RolloutStep } from './evidence-counts.ts'
import { frozenIn, frozenNotes } from './frozen-notes.ts'
import { type Report, reportsOfOthers, toldOf } from './reports.ts'
import type { StageConstants } from './stage-constants.ts'
import type { FactsAtStart } from './stage-start.ts'

/** What a step is judged by, fixed when it begins: another value is another rollout. */
export interface FrozenStep {
  /** When it was fixed, in milliseconds since the epoch, and by which process. */
  readonly at: number
  readonly by: string
  readonly constants: StageConstants
  /** Empty where no control was seen before: then each process takes them from the first calls of the control. */
  readonly limits: LatencyLimits
}

/** Fixes what steps are judged by, once for all processes. */
export interface FrozenSteps {
  of(rollout: string, step: RolloutStep): Promise<FrozenStep>
}

/** What {@link FrozenSteps} are made with. */
export interface FrozenParts {
  readonly state: Pick<RolloutState, 'publish' | 'collect' | 'known' | 'note' | 'lead'>
  readonly process: string
  readonly log: Log
  now(): number
  /** What this process has counted until now, under the step before. */
  own(rollout: string): Report | undefined
  constants(step: RolloutStep, facts: Pick<FactsAtStart, 'control' | 'q99Ms' | 'callsInBake'>): StageConstants
}

/** For so long an earlier word of another process is waited for, in milliseconds. */
const settlesMs = 5_000
const mostSteps = 32

/**
 * Makes {@link FrozenSteps}. What is fixed stands beside the stages, where the first word counts for all and for good, whoever leads later.
 * Only while it cannot be noted there, of several processes that fix a step at once the earliest word counts.
 */
export function createFrozenSteps(parts: FrozenParts): FrozenSteps {
  const known = new Map<string, FrozenStep>()
  const settled = new Map<string, FrozenStep>()
  const lastStep = new Map<string, RolloutStep>()
  return {
    async of(rollout, step) {
      const key = `${rollout}\n${step}`
      const has = known.get(key)
      const noted = settled.get(key) ?? frozenIn(parts.state.known, rollout, step)
      if (noted) {
        keep(settled, key, noted)
        lastStep.set(rollout, step)
        return noted
      }
      if (has && parts.now() - has.at > settlesMs) return noting(parts, { rollout, step, frozen: has })
      const words = await toldOf(parts, rollout, `${step} frozen`)
      const said = [...(has ? [has] : []), ...(words as unknown as FrozenStep[])].toSorted(
        (a, b) => a.at - b.at || (a.by < b.by ? -1 : 1),
      )
      const frozen = said[0] ?? (await freeze(parts, { rollout, step, before: lastStep.get(rollout) }))
      keep(known, key, frozen)
      lastStep.set(rollout, step)
      return noting(parts, { rollout, step, frozen })
    },
  }
}

function keep(steps: Map<string, FrozenStep>, key: string, frozen: FrozenStep): void {
  steps.set(key, frozen)
  const [oldest] = steps.keys()
  if (steps.size > mostSteps && oldest !== undefined) steps.delete(oldest)
}

interface Noting {
  readonly rollout: string
  readonly step: RolloutStep
  readonly frozen: FrozenStep
}

/** Has the leader note what a step is judged by, unless another was first; what counts then. */
async function noting({ state }: FrozenParts, { rollout, step, frozen }: Noting): Promise<FrozenStep> {
  const by = { actor: 'foldgate', reason: `what ${step} is judged by` }
  // Whoever else noted it would be in the way of what the leader is about to change.
  if (state.lead()) await state.note({ notes: frozenNotes(state.known, { rollout, step, frozen }), keeps: true, by })
  return frozenIn(state.known, rollout, step) ?? frozen
}

interface Freezing {
  readonly rollout: string
  readonly step: RolloutStep
  readonly before: RolloutStep | undefined
}

async function freeze(parts: FrozenParts, { rollout, step, before }: Freezing): Promise<FrozenStep> {
  const own = parts.own(rollout)
  const others = before === undefined ? [] : reportsOfOthers(await toldOf(parts, rollout, before), own)
  const reports = own ? [own, ...others] : others
  const limits = limitsFromFlushes(reports.flatMap(({ latency }) => latency ?? []))
  const cells = reports.flatMap(({ flush }) => flush.cells)
  const { control } = armTotals(cells)
  const constants = parts.constants(step, {
    control: { n: control.ended, x: control.bad },
    callsInBake: callsADay(cells, parts.now()),
    ...(limits['*'] ? { q99Ms: limits['*'].q99Ms } : {}),
  })
  const frozen: FrozenStep = { at: parts.now(), by: parts.process, constants, limits }
  parts.state.publish(rollout, `${step} frozen`, frozen as unknown as JsonObject)
  return frozen
}

const dayMs = 86_400_000
const leastMs = 60_000

/** How many calls a day brings, as the rollout went so far: the last step bakes for one. */
function callsADay(cells: readonly Cell[], now: number): number {
  if (cells.length === 0) return 0
  const { canary, control } = armTotals(cells)
  const tookMs = Math.max(leastMs, now - Math.min(...cells.map(({ window }) => window)))
  return ((canary.ended + control.ended) / tookMs) * dayMs
}
