import { gatewayError } from '../../plugins/errors.ts'
import type { Clock } from '../../plugins/host.ts'
import { closureOf, type Movable, stagesFault } from '../../plugins/legality.ts'
import { isMoving, type LayerStage, type Stage, sayStage } from '../../plugins/stage.ts'

/** What may be asked of one layer. */
export type StageVerb = 'shadow' | 'canary' | 'promote' | 'hold' | 'resume' | 'rollback'

/** Who asked for a change, and why. */
export interface ChangedBy {
  readonly actor: string
  readonly reason: string
}

/** One change of one layer, as history tells it. */
export interface StageChange extends ChangedBy {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly layer: string
  readonly from: LayerStage
  readonly to: LayerStage
}

/** Where each layer starts, as configured, and the layers it is about. */
export interface StageConfig {
  /** The layers that are configured, outermost first. */
  readonly layers: readonly Movable[]
  readonly stages: Readonly<Record<string, Stage>>
  /** The shares of a canary, in percent, rising. */
  readonly steps: readonly number[]
}

/** Where every layer is now. Outlives a configuration. */
export interface Stages {
  /** Raised by every change. */
  readonly version: number
  readonly steps: readonly number[]
  of(layer: string): LayerStage
  /** Held layers are not promoted. */
  isHeld(layer: string): boolean
  /** Takes a configuration; a layer whose configured stage is another than before goes there, the others stay where they are. */
  configure(config: StageConfig): readonly StageChange[]
  /** Does what is asked, whole or not at all, and gives back what changed. Throws `stage_refused` saying why not, and `not_found`. */
  ask(verb: StageVerb, layer: string, by: ChangedBy): readonly StageChange[]
  /** Every layer that is out comes back to the gateway. */
  rollbackAll(by: ChangedBy): readonly StageChange[]
  /** Latest last; at most 1,000. */
  history(): readonly StageChange[]
}

const inGateway: LayerStage = { stage: 'gateway', weight: 0 }
const mostChanges = 1_000

/** Makes {@link Stages}. `changed` hears of every change, after it holds. */
export function createStages(clock: Clock, changed: (change: StageChange) => void = () => undefined): Stages {
  let config: StageConfig = { layers: [], stages: {}, steps: [100] }
  const now = new Map<string, LayerStage>()
  const held = new Set<string>()
  const history: StageChange[] = []
  let version = 0
  const of = (layer: string): LayerStage => now.get(layer) ?? inGateway

  const apply = (next: ReadonlyMap<string, LayerStage>, by: ChangedBy): StageChange[] => {
    const changes = [...next].flatMap(([layer, to]): StageChange[] => {
      const from = of(layer)
      return from.stage === to.stage && from.weight === to.weight ? [] : [{ at: clock.now(), layer, from, to, ...by }]
    })
    for (const change of changes) now.set(change.layer, change.to)
    if (changes.length > 0) version++
    history.push(...changes)
    history.splice(0, history.length - mostChanges)
    for (const change of changes) changed(change)
    return changes
  }
  const requireLegal = (next: ReadonlyMap<string, LayerStage>): void => {
    const fault = stagesFault(config.layers, (name) => next.get(name) ?? of(name))
    if (fault) throw gatewayError('stage_refused', fault)
  }
  const back = (failing: readonly string[]): Map<string, LayerStage> => {
    const out = new Set(
      config.layers.map(({ name }) => name).filter((name) => !['gateway', 'rolled-back'].includes(of(name).stage)),
    )
    const rolled: LayerStage = { stage: 'rolled-back', weight: 0 }
    return new Map(
      closureOf(config.layers, out, failing).map((name) => [name, failing.includes(name) ? rolled : inGateway]),
    )
  }
  return {
    get version() {
      return version
    },
    get steps() {
      return config.steps
    },
    of,
    isHeld: (layer) => held.has(layer),
    configure(given) {
      const before = config
      config = given
      const next = new Map<string, LayerStage>()
      for (const { name } of given.layers) {
        const stage = given.stages[name] ?? 'gateway'
        if (before.stages[name] !== stage) next.set(name, atStart(stage, given.steps))
      }
      for (const name of now.keys()) if (!given.layers.some((layer) => layer.name === name)) next.set(name, inGateway)
      requireLegal(next)
      return apply(next, { actor: 'configuration', reason: 'as configured' })
    },
    ask(verb, layer, by) {
      if (!config.layers.some(({ name }) => name === layer)) {
        throw gatewayError('not_found', `layer "${layer}" is not configured`)
      }
      if (verb === 'hold' || verb === 'resume') {
        if (verb === 'hold') held.add(layer)
        else held.delete(layer)
        version++
        return []
      }
      const next =
        verb === 'rollback' ? back([layer]) : new Map([[layer, nextStage(verb, of(layer), { layer, config, held })]])
      requireLegal(next)
      return apply(next, by)
    },
    rollbackAll: (by) => apply(back(config.layers.map(({ name }) => name)), by),
    history: () => history,
  }
}

function atStart(stage: Stage, steps: readonly number[]): LayerStage {
  return { stage, weight: stage === 'canary' ? (steps[0] ?? 100) : 0 }
}

interface Asked {
  readonly layer: string
  readonly config: StageConfig
  readonly held: ReadonlySet<string>
}

/** Where a layer goes from where it is: a canary only after a shadow, and one step at a time. */
function nextStage(
  verb: 'shadow' | 'canary' | 'promote',
  from: LayerStage,
  { layer, config, held }: Asked,
): LayerStage {
  const { steps } = config
  if (held.has(layer)) throw gatewayError('stage_refused', `${layer} is on hold; resume it first`)
  if (verb === 'shadow') {
    if (from.stage === 'gateway' || from.stage === 'rolled-back') return atStart('shadow', steps)
    throw gatewayError('stage_refused', `${layer} is ${sayStage(from)} already; roll it back first`)
  }
  if (verb === 'canary') {
    if (from.stage === 'shadow') return atStart('canary', steps)
    throw gatewayError('stage_refused', `${layer} is ${sayStage(from)}; a canary begins from shadow`)
  }
  if (from.stage === 'native') throw gatewayError('stage_refused', `${layer} is native already`)
  if (!isMoving(from)) return atStart('shadow', steps)
  const weight = from.stage === 'shadow' ? steps[0] : steps.find((step) => step > from.weight)
  return weight === undefined ? atStart('native', steps) : { stage: 'canary', weight }
}
