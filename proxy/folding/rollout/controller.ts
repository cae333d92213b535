import type { Clock, Log } from '../../../plugins/host.ts'
import type { JsonObject } from '../../../plugins/jws-json.ts'
import { isMoving } from '../../../plugins/stage.ts'
import type { Collector } from '../collect/collector.ts'
import { anyStratum } from '../collect/latency-limits.ts'
import { layerUnits } from '../draw.ts'
import { stepOf } from '../draws.ts'
import { stepsFault } from '../stage-plan.ts'
import type { Stages } from '../stages.ts'
import { type LayerState, wholeWeight } from '../state/document.ts'
import { isOn } from '../state/switches.ts'
import { type Repeating, repeat, type Timers } from '../state/timers.ts'
import type { Decision } from './decision.ts'
import { type DecisionRecord, recordedDecision } from './decision-record.ts'
import type { Drift } from './drift.ts'
import { holdForDrifts } from './drift-hold.ts'
import type { Ejections } from './ejections.ts'
import type { RolloutView } from './evidence.ts'
import type { RolloutStep } from './evidence-counts.ts'
import { evidenceFrom } from './evidence-merge.ts'
import { createFrozenSteps, type FrozenStep } from './frozen-steps.ts'
import { createHearing } from './hearing.ts'
import { createLeaderCusum } from './leader-cusum.ts'
import { createReporter, type Report, reportsOfOthers, toldOf, viewFromReports } from './reports.ts'
import { constantsDigest, type StageConstants, stageConstants } from './stage-constants.ts'
import type { FactsAtStart } from './stage-start.ts'

/** What moves layers on, and takes them back, by itself. */
export interface Controller {
  /** The last decision over a layer that moves, with everything it rested on; undefined where nothing moves. */
  decisionOn(layer: string): DecisionRecord | undefined
  /** Looks now, and once more if it is looking: something has happened that may have to stop a canary. */
  look(): Promise<void>
  close(): Promise<void>
}

/** What a controller works with. */
export interface ControllerParts {
  readonly stages: Stages
  readonly collector: Collector
  /** Where places are noted that are taken out of a canary. */
  readonly ejections: Ejections
  readonly replica: string
  readonly clock: Clock
  readonly timers: Timers
  readonly log: Log
  /** The names of all layers, outermost first. */
  readonly layers: readonly string[]
  /** Layers in shadow or canary go on by themselves. */
  autopilot(): boolean
  /** How long answers live in the cache, in milliseconds, where it is on. */
  cacheTtlMs(): number | undefined
  /** Active rules that ignore a hard difference of a layer. */
  ignores(layer: string): number
  /** What has changed at runners, as seen here, while a rollout is under way. Default: nothing ever does. */
  drifts?(rollout: string): readonly Drift[]
  /** Changes the constants of a step before they are frozen: for demonstrations and tests. */
  pace?(constants: StageConstants): StageConstants
  /** Whether nothing outside speaks against a promotion; asked again a second later while it does not know. Default: nothing does. */
  allows?(promotion: { readonly layer: string; readonly stage: string; readonly record: DecisionRecord }): boolean
  /** A decision was made; told once for each that says something new. */
  decided(said: Decided): void
}

/** A decision, and over which layer. */
export interface Decided extends Decision {
  readonly layer: string
}

const everyMs = 1_000
const me = 'foldgate'

/** A step that is being judged. */
interface Judged {
  readonly layer: string
  readonly state: LayerState
  readonly step: RolloutStep
  readonly frozen: FrozenStep
}

/** Makes the {@link Controller}: it looks once a second, and at once when told to. Only the leader promotes; anybody takes back. */
export function createController(parts: ControllerParts): Controller {
  const { stages, clock, timers } = parts
  const hearing = createHearing(() => clock.now())
  const reporter = createReporter(parts.collector, () => clock.now(), parts.drifts)
  const freezing = createFrozenSteps({
    state: stages.state,
    process: parts.replica,
    log: parts.log,
    now: () => clock.now(),
    own: (rollout) => (parts.collector.stepOf(rollout) === undefined ? undefined : reporter.of(rollout)),
    constants: (step, facts) => constantsFor(parts, step, facts),
  })
  const bake = createLeaderCusum()
  const records = new Map<string, DecisionRecord>()
  const said = new Map<string, string>()

  const judgedNow = async (): Promise<Judged | undefined> => {
    const layer = movingIn(parts)
    const state = layer === undefined ? undefined : stages.stateOf(layer)
    if (layer === undefined || !state?.rolloutId) return undefined
    const step = stepOf(stages, layer)
    return { layer, state, step, frozen: await freezing.of(state.rolloutId, step) }
  }
  const turn = async (): Promise<void> => {
    await stages.catchUp()
    const judged = await judgedNow()
    for (const name of records.keys()) if (name !== judged?.layer) records.delete(name)
    if (!judged) return
    const { layer, state, step, frozen } = judged
    const { rolloutId: rollout, startedAt } = state
    const { constants, limits } = frozen
    const given = anyStratum in limits ? { limits } : {}
    parts.collector.begin({ rollout, step, startedAt, constants, ...given })
    const own = reporter.of(rollout)
    stages.state.publish(rollout, step, own as unknown as JsonObject)
    const leading = stages.state.lead() !== undefined
    // Also who does not lead: alone, one bad replica of many would look like a bad layer.
    const told = await toldOf({ state: stages.state, log: parts.log }, rollout, step)
    const reports = hearing.heard([own, ...reportsOfOthers(told, own)])
    if (leading) await holdForDrifts(parts, { layer, rollout }, reports)
    const edited = leading && !state.held ? stepsFault(state, stages.plan) : undefined
    if (edited) await stages.ask('hold', layer, { actor: me, reason: edited })
    const flushes = reports.map(({ flush }) => flush)
    const view = {
      ...viewOf(parts, { ...judged, state: stages.stateOf(layer) }, reports),
      replicas: hearing.serving(reports),
    }
    const seen = evidenceFrom(view, flushes)
    const evidence = step === 'S4' ? { ...seen, cusumPeak: bake.peak(seen, constants) } : seen
    const record = recordedDecision(evidence, constants, clock.now())
    records.set(layer, record)
    const { kind, fuse = '', reason } = record.decision
    // What only counts on is no news.
    const word = `${kind} ${fuse} ${reason.replaceAll(/\d+(?:[.,]\d+)*/g, 'n')}`
    if (kind !== 'continue' && said.get(layer) !== word) parts.decided({ layer, ...record.decision })
    said.set(layer, word)
    parts.ejections.put(rollout, record.decision.eject)
    await act(parts, judged, { record, leading })
  }
  const looking: Repeating = repeat(timers, everyMs, () => turn().catch((reason: unknown) => failed(parts, reason)))
  return {
    decisionOn: (layer) => records.get(layer),
    look: () => looking.now(),
    close: () => looking.stop(),
  }
}

function movingIn({ stages, layers }: ControllerParts): string | undefined {
  return layers.find((name) => isMoving(stages.of(name)))
}

function failed({ log }: ControllerParts, reason: unknown): void {
  log.error({ reason: reason instanceof Error ? reason.message : 'unknown' }, 'the rollout could not be judged')
}

function constantsFor(
  parts: ControllerParts,
  step: RolloutStep,
  facts: Pick<FactsAtStart, 'control' | 'q99Ms' | 'callsInBake'>,
): StageConstants {
  const layer = movingIn(parts) ?? ''
  const cacheTtlMs = parts.cacheTtlMs()
  const constants = stageConstants(step, {
    ...facts,
    layer,
    unit: layerUnits[layer] ?? 'conversation',
    windowMs: 60_000,
    ...(cacheTtlMs === undefined ? {} : { cacheTtlMs }),
  })
  return parts.pace?.(constants) ?? constants
}

function viewOf(
  parts: ControllerParts,
  { layer, state, step, frozen }: Judged,
  reports: readonly Report[],
): Omit<RolloutView, 'replicas'> {
  const { known } = parts.stages.state
  const tripped = known.tripped[state.rolloutId]
  const shares = Object.fromEntries(Object.entries(state.weights).map(([tier, bp]) => [tier, bp / wholeWeight]))
  const blind = parts.collector.blind !== undefined
  return {
    rollout: state.rolloutId,
    layer,
    step,
    startedAt: state.startedAt,
    constantsDigest: constantsDigest(frozen.constants),
    shares,
    sampled: 1,
    ...(tripped ? { tripped: { fuse: 'F12', reason: tripped.reason, at: tripped.at } } : {}),
    ...(state.held ? { operator: { verb: 'hold', actor: state.actor, reason: state.reason } } : {}),
    incident: known.hold !== '' || blind,
    ignores: parts.ignores(layer),
    cusumPeak: 0,
    ...viewFromReports(reports, { shares, frozen }),
  }
}

interface Acting {
  readonly record: DecisionRecord
  readonly leading: boolean
}

async function act(parts: ControllerParts, { layer, step }: Judged, { record, leading }: Acting): Promise<void> {
  const { stages } = parts
  const { decision } = record
  const by = { actor: me, reason: decision.reason }
  if (decision.kind === 'rollback') {
    await stages.ask('rollback', layer, by, record)
    return
  }
  const { known } = stages.state
  const free = leading && parts.autopilot() && !stages.isHeld(layer) && known.hold === '' && !isOn(known, 'freeze')
  if (decision.kind !== 'promote' || !free) return
  if (parts.allows?.({ layer, stage: stages.of(layer).stage, record }) === false) return
  if (step === 'S4' && (await stages.moreVip(layer, by))) return
  await stages.ask('promote', layer, by, record)
}
