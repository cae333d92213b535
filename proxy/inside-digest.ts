import type { Call } from '../plugins/call.ts'
import { canonicalDigest } from '../plugins/canonical.ts'
import type { Acting, Layer } from '../plugins/layer.ts'

/**
 * Digest of the rules of the layers further in than a cache, as they apply to one call; undefined when an answer under one of them must
 * not be kept. `acting` is asked at each call, since the cache is opened before the layers inside it.
 */
export function createInsideDigest(
  layers: readonly Layer[],
  acting: ReadonlyMap<string, Acting>,
): (call: Call) => string | undefined {
  const inside = layers.slice(layers.findIndex(({ name }) => name === 'cache') + 1)
  return (call) => {
    const rules: unknown[] = []
    for (const { name, routes } of inside) {
      const layer = routes.includes(call.route) ? acting.get(name) : undefined
      if (!layer?.ruleFor) continue
      const rule = layer.ruleFor(call)
      if (rule === undefined) return undefined
      rules.push([name, rule])
    }
    return canonicalDigest(rules)
  }
}
