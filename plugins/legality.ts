import { type Flowing, foldable } from './flow.ts'
import { isMoving, type LayerStage } from './stage.ts'

/** A layer that is configured, and why a configuration of it can never leave the gateway. */
export interface Movable extends Flowing {
  readonly stays: string | undefined
}

/**
 * Why layers may not stand at these stages, in words; undefined when they may. `layers` are those that are configured, outermost first.
 * At most one moves at a time, and what decides at the runner must be legal with it and without it.
 */
export function stagesFault(
  layers: readonly Movable[],
  stageOf: (name: string) => Pick<LayerStage, 'stage'>,
): string | undefined {
  const out = layers.filter(({ name }) => !['gateway', 'rolled-back'].includes(stageOf(name).stage))
  const fixed = out.find(({ stays }) => stays !== undefined)
  if (fixed) return `${fixed.name} stays in the gateway: ${fixed.stays}`
  const moving = out.filter(({ name }) => isMoving(stageOf(name)))
  if (moving.length > 1) {
    const [first, second] = moving as [Movable, Movable]
    return `${first.name} and ${second.name} cannot move at a time: one layer is in shadow or canary, the others wait`
  }
  const native = new Set(out.filter((layer) => !moving.includes(layer)).map(({ name }) => name))
  const without = foldable(layers, native)
  if (!without.ok) return without.why
  const all = foldable(layers, new Set(out.map(({ name }) => name)))
  return all.ok ? undefined : all.why
}

/**
 * The layers to seat in the gateway when some of those that decide at the runner cannot: they, and the fewest others so that the rest stays
 * legal. Names in the order of `layers`.
 */
export function closureOf(
  layers: readonly Flowing[],
  folded: ReadonlySet<string>,
  failing: readonly string[],
): readonly string[] {
  const left = new Set([...folded].filter((name) => !failing.includes(name)))
  for (;;) {
    const outer = layers.find(
      ({ name }) => left.has(name) && !foldable(layers, new Set(left)).ok && frees(layers, left, name),
    )
    if (!outer) break
    left.delete(outer.name)
  }
  return layers.map(({ name }) => name).filter((name) => folded.has(name) && !left.has(name))
}

/** Whether it is this layer that some layer in the gateway keeps from being folded. */
function frees(layers: readonly Flowing[], left: ReadonlySet<string>, name: string): boolean {
  const index = layers.findIndex((layer) => layer.name === name)
  const inner = layers.slice(index).filter((layer) => layer.name === name || !left.has(layer.name))
  return !foldable(inner, new Set([name])).ok
}
