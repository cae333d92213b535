import type { Clock } from '../../plugins/host.ts'
import { closureOf, type Movable } from '../../plugins/legality.ts'
import { type LayerStage, shareOf } from '../../plugins/stage.ts'
import { atHome, type ChangedBy, type MovePlan, noTier, stageFrom } from './stage-plan.ts'
import { isOut, type LayerState, type StageDocument } from './state/document.ts'
import { weightNow } from './state/drain.ts'
import type { StageChangeRecord } from './state/state.ts'

/** One change of one layer, as history tells it. */
export interface StageChange extends ChangedBy {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly layer: string
  readonly from: LayerStage
  readonly to: LayerStage
}

/** What history tells: a change of a layer, or, in words, something that moved none, of the layer `*` where it is about all. */
export type PastChange = Pick<StageChange, 'at' | 'layer' | 'actor' | 'reason'> &
  (Pick<StageChange, 'from' | 'to'> | { readonly from: string; readonly to: string })

/**
 * The layers as they are in force: those that cannot be out while another is home, go home with it at once, on every replica alike, before
 * anybody has written that down.
 */
export function homeward(
  layers: readonly Movable[],
  { layers: states }: StageDocument,
): ReadonlyMap<string, LayerState> {
  const found = new Map(layers.map(({ name }) => [name, states[name] ?? atHome] as const))
  const out = new Set(layers.map(({ name }) => name).filter((name) => isOut(found.get(name) ?? atHome)))
  for (const name of closureOf(layers, out, [])) {
    const { reason, actor } = [...found.values()].find(({ stage }) => stage === 'rolled-back') ?? atHome
    found.set(name, { ...(found.get(name) ?? atHome), stage: 'gateway', weights: {}, reason, actor })
  }
  return found
}

/** A stage while nobody has answered for so long: its shares shrink. */
export function drained(stage: LayerStage, lostForMs: number): LayerStage {
  const tiers = Object.keys(stage.weights ?? {})
  const weights = Object.fromEntries(tiers.map((tier) => [tier, weightNow(shareOf(stage, tier), lostForMs)]))
  return { ...stage, weights }
}

/** What changes are told with. */
export interface ChangeContext {
  readonly clock: Clock
  readonly config: MovePlan
}

/** What became of the layers. */
export function changesFrom(
  was: ReadonlyMap<string, LayerState>,
  now: ReadonlyMap<string, LayerState>,
  { clock, config }: ChangeContext,
): StageChange[] {
  return [...now].flatMap(([layer, to]): StageChange[] => {
    const from = was.get(layer) ?? atHome
    if (from.stage === to.stage && from.held === to.held && sameWeights(from, to)) return []
    const { actor, reason } = to
    return [{ at: clock.now(), layer, from: stageFrom(from, config), to: stageFrom(to, config), actor, reason }]
  })
}

function sameWeights({ weights: a }: LayerState, { weights: b }: LayerState): boolean {
  return a[noTier] === b[noTier] && JSON.stringify(a) === JSON.stringify(b)
}

/** A recorded change as people see it. */
export function changesOf({ at, by, layers, told }: StageChangeRecord, plan: MovePlan): PastChange[] {
  const moved = Object.entries(layers).map(([layer, { from = atHome, to = atHome }]) => ({
    at,
    layer,
    from: stageFrom(from, plan),
    to: stageFrom(to, plan),
    ...by,
  }))
  return told ? [...moved, { at, ...told, ...by }] : moved
}
