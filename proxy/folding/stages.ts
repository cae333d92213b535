import { gatewayError } from '../../plugins/errors.ts'
import type { Clock } from '../../plugins/host.ts'
import { type Movable, stagesFault } from '../../plugins/legality.ts'
import type { LayerStage, Stage } from '../../plugins/stage.ts'
import {
  atHome,
  type ChangedBy,
  type MovePlan,
  moreVip,
  nextState,
  type StageVerb,
  stageFrom,
  stageRefusals,
  startedAt,
} from './stage-plan.ts'
import { changesFrom, changesOf, drained, homeward, type PastChange, type StageChange } from './stage-view.ts'
import { isOut, type LayerState, type StageDocument } from './state/document.ts'
import { lostFor } from './state/drain.ts'
import type { RolloutState, TripOutcome } from './state/state.ts'
import { isOn, sayFrozen, switchedOn } from './state/switches.ts'

export type { ChangedBy, StageVerb } from './stage-plan.ts'
export type { PastChange, StageChange } from './stage-view.ts'

/** Where each layer starts, as configured, and the layers it is about. */
export interface StageConfig extends MovePlan {
  /** The layers that are configured, outermost first. */
  readonly layers: readonly Movable[]
  readonly stages: Readonly<Record<string, Stage>>
}

/** What a change came to. */
export interface Changed {
  readonly changes: readonly StageChange[]
  /** Of a rollback: who has taken it over. */
  readonly confirmed?: TripOutcome
}

/** Where every layer is now. Outlives a configuration. */
export interface Stages {
  /** Raised by every change. */
  readonly version: number
  readonly plan: MovePlan
  readonly state: RolloutState
  /** In force here and now: a layer whose outer ones cannot stay out without it takes them home, and shares shrink while the store is lost. */
  of(layer: string): LayerStage
  /** The same, with everything that is known of its rollout. */
  stateOf(layer: string): LayerState
  isHeld(layer: string): boolean
  /** Throws `stage_refused` for stages that are not legal. A layer whose configured stage is another than before goes there. */
  configure(config: StageConfig): Promise<readonly StageChange[]>
  /** What was configured while nobody led is done now, if this replica leads and nobody has done it in the meantime. */
  catchUp(): Promise<void>
  /** Does what is asked, whole or not at all. Throws `stage_refused` saying why not, and `not_found`. */
  ask(verb: StageVerb, layer: string, by: ChangedBy, evidence?: unknown): Promise<Changed>
  /** More of the last tier in the last step; false when all of it is in. */
  moreVip(layer: string, by: ChangedBy): Promise<boolean>
  /** Every layer that is out comes back to the gateway. */
  rollbackAll(by: ChangedBy): Promise<Changed>
  /** Nothing is promoted by itself until this is taken away with an empty reason. Does nothing where another replica leads. */
  holdAll(reason: string, by: ChangedBy): Promise<void>
  /** Latest last. */
  history(limit: number): Promise<readonly PastChange[]>
  close(): Promise<void>
}

/** What stages are kept with. */
export interface StagesParts {
  readonly state: RolloutState
  readonly clock: Clock
  /** Digest of what a layer would take to the runner. */
  artifactOf(layer: string): string
  /** Hears of every change, after it holds, wherever it was made. */
  changed(change: StageChange): void
  /** Why no layer may leave the gateway now; undefined: nothing keeps it. */
  blocked?(): string | undefined
  /** Hears of a rollback that others have not taken over yet. */
  unconfirmed?(layers: readonly string[], by: ChangedBy, outcome: TripOutcome): void
}

const byConfiguration: ChangedBy = { actor: 'configuration', reason: 'as configured' }
/** For so long a configured stage waits for somebody to lead, in milliseconds. */
const waitsMs = 60_000

/** Makes {@link Stages} over the shared state. */
export function createStages({ state, clock, artifactOf, changed, blocked, unconfirmed }: StagesParts): Stages {
  let config: StageConfig = { layers: [], stages: {}, steps: [100], tiers: [] }
  let version = 0
  let before: StageDocument = state.known
  let effective = homeward(config.layers, before)
  /** Configured stages that could not be written, since nobody led yet. */
  let waiting = new Map<string, { readonly rollout: string; readonly until: number }>()
  const rolloutOf = (layer: string): string => state.known.layers[layer]?.rolloutId ?? ''
  const stateOf = (layer: string): LayerState => effective.get(layer) ?? atHome
  const refresh = (document: StageDocument): void => {
    const was = effective
    effective = homeward(config.layers, document)
    version++
    for (const change of changesFrom(was, effective, { clock, config })) changed(change)
    before = document
  }
  const stop = state.onChange(refresh)

  const write = async (
    next: Readonly<Record<string, LayerState>>,
    by: ChangedBy,
    evidence?: unknown,
  ): Promise<readonly StageChange[]> => {
    const was = effective
    const leading = state.lead()
    if (!leading) throw gatewayError('stage_refused', 'another replica leads; it moves the layers')
    const layers = { ...state.known.layers, ...next }
    const result = await state.transition({ expectedRev: before.rev, fence: leading.fence, layers, by, evidence })
    if (result !== 'done') throw gatewayError('stage_refused', stageRefusals[result])
    if (state.known.rev !== before.rev) refresh(state.known)
    return changesFrom(was, effective, { clock, config })
  }
  const requireLegal = (next: Readonly<Record<string, LayerState>>): void => {
    const fault = stagesFault(config.layers, (name) => next[name] ?? stateOf(name))
    if (fault) throw gatewayError('stage_refused', fault)
  }
  const nextFrom = (layer: string, by: ChangedBy) => ({
    layer,
    from: stateOf(layer),
    plan: config,
    by,
    now: clock.now(),
    artifact: artifactOf(layer),
  })
  const rollBack = async (failing: readonly string[], by: ChangedBy, evidence?: unknown): Promise<Changed> => {
    const was = effective
    const outcomes = await Promise.all(
      failing.map((layer) => {
        const { rolloutId, gen } = stateOf(layer)
        return state.trip({ rolloutId, gen, layer, reason: by.reason, by, evidence })
      }),
    )
    if (state.known !== before) refresh(state.known)
    await settle(by).catch(() => undefined)
    const [worst] = outcomes.toSorted((a, b) => b.missing.length - a.missing.length)
    const changes = changesFrom(was, effective, { clock, config })
    if (worst && worst.missing.length > 0) unconfirmed?.(failing, by, worst)
    return worst ? { changes, confirmed: worst } : { changes }
  }
  /** Writes down that outer layers went home with one that was taken back; it is so already. */
  const settle = async (by: ChangedBy): Promise<void> => {
    const home = config.layers.filter(({ name }) => isOut(state.known.layers[name] ?? atHome) && !isOut(stateOf(name)))
    if (home.length === 0 || !state.lead()) return
    await write(Object.fromEntries(home.map(({ name }) => [name, stateOf(name)])), by)
  }

  return {
    get version() {
      return version
    },
    get plan() {
      return config
    },
    state,
    of(layer) {
      const stage = stageFrom(stateOf(layer), config)
      const lost = lostFor(state.condition)
      return stage.stage === 'canary' && lost > 0 ? drained(stage, lost) : stage
    },
    stateOf,
    isHeld: (layer) => stateOf(layer).held,
    async configure(given) {
      const asked = config.stages
      const fresh = given.layers.filter(({ name }) => {
        const stage = given.stages[name] ?? 'gateway'
        return name in asked ? asked[name] !== stage : stage !== 'gateway' && !state.known.layers[name]
      })
      const next: Record<string, LayerState> = {}
      for (const { name } of fresh)
        next[name] = startedAt(given.stages[name] ?? 'gateway', { ...nextFrom(name, byConfiguration), plan: given })
      const stageOf = (name: string): LayerState => next[name] ?? state.known.layers[name] ?? atHome
      const fault = stagesFault(given.layers, stageOf)
      if (fault) throw gatewayError('stage_refused', fault)
      config = {
        ...given,
        stages: { ...Object.fromEntries(given.layers.map(({ name }) => [name, 'gateway' as const])), ...given.stages },
      }
      refresh(state.known)
      waiting = new Map()
      // While everything is frozen, what comes home comes now, and the rest goes out when that is over.
      const frozen = isOn(state.known, 'freeze')
      const due = Object.entries(next).filter(([, layer]) => state.lead() && !(frozen && isOut(layer)))
      for (const name of Object.keys(next))
        waiting.set(name, {
          rollout: rolloutOf(name),
          until: frozen ? Number.POSITIVE_INFINITY : clock.now() + waitsMs,
        })
      for (const [name] of due) waiting.delete(name)
      return due.length === 0 ? [] : write(Object.fromEntries(due), byConfiguration)
    },
    async catchUp() {
      if (waiting.size === 0 || !state.lead() || isOn(state.known, 'freeze')) return
      const due = [...waiting].filter(
        ([name, { rollout, until }]) => clock.now() < until && rolloutOf(name) === rollout,
      )
      waiting = new Map()
      const next = Object.fromEntries(
        due.map(([name]) => [name, startedAt(config.stages[name] ?? 'gateway', nextFrom(name, byConfiguration))]),
      )
      requireLegal(next)
      if (due.length > 0) await write(next, byConfiguration)
    },
    async ask(verb, layer, by, evidence) {
      if (!config.layers.some(({ name }) => name === layer)) {
        throw gatewayError('not_found', `layer "${layer}" is not configured`)
      }
      if (verb === 'rollback') return isOut(stateOf(layer)) ? rollBack([layer], by, evidence) : { changes: [] }
      if (verb === 'hold' || verb === 'resume') {
        const held = verb === 'hold'
        if (stateOf(layer).held === held) return { changes: [] }
        return { changes: await write({ [layer]: { ...stateOf(layer), held, ...by } }, by) }
      }
      const kept = blocked?.()
      if (kept) throw gatewayError('stage_refused', `${layer} stays where it is: ${kept}`)
      const frozen = switchedOn(state.known, 'freeze')
      if (frozen) throw gatewayError('stage_refused', `${layer} stays where it is: ${sayFrozen(frozen)}`)
      const next = { [layer]: nextState(verb, nextFrom(layer, by)) }
      requireLegal(next)
      return { changes: await write(next, by, evidence) }
    },
    async moreVip(layer, by) {
      const from = stateOf(layer)
      const weights = from.stage === 'canary' ? moreVip(from.weights, config) : undefined
      if (!weights) return false
      await write({ [layer]: { ...from, weights, startedAt: 0, ...by } }, by)
      return true
    },
    rollbackAll: (by) =>
      rollBack(
        config.layers.map(({ name }) => name).filter((name) => isOut(stateOf(name))),
        by,
      ),
    async holdAll(hold, by) {
      const leading = state.lead()
      const { rev, layers, hold: held } = state.known
      if (leading && held !== hold) await state.transition({ expectedRev: rev, fence: leading.fence, layers, hold, by })
    },
    history: async (limit) => (await state.history(limit)).flatMap((record) => changesOf(record, config)).slice(-limit),
    async close() {
      stop()
      await state.close()
    },
  }
}
