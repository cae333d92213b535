import type { Call } from './call.ts'
import { canonicalJson, sha256 } from './canonical.ts'
import type { Acting, Layer } from './layer.ts'

/**
 * Digest of the rules of the layers further in than a cache, as they apply to one call; undefined when an answer under one of them must
 * not be kept. `acting` is asked at each call, since the cache is opened before the layers inside it.
 */
export function createInsideDigest(
  layers: readonly Layer[],
  acting: ReadonlyMap<string, Acting>,
): (call: Call) => string | undefined {
  const inside = layers.slice(layers.findIndex(({ name }) => name === 'cache') + 1)
  const textOf = createTexts()
  return (call) => {
    let rules = ''
    for (const { name, routes } of inside) {
      const layer = routes.includes(call.route) ? acting.get(name) : undefined
      if (!layer?.ruleFor) continue
      const rule = layer.ruleFor(call)
      if (rule === undefined) return undefined
      rules += `${name}=${textOf(name, rule)}\n`
    }
    return sha256(rules)
  }
}

/** A rule as text. Most layers give the same object for the same rule, one call after another: that is turned into text once. */
function createTexts(): (layer: string, rule: unknown) => string {
  const last = new Map<string, { readonly rule: unknown; readonly text: string }>()
  return (layer, rule) => {
    const known = last.get(layer)
    if (known && known.rule === rule) return known.text
    const canonical = canonicalJson(rule)
    const text = canonical.length > longText ? sha256(canonical) : canonical
    last.set(layer, { rule, text })
    return text
  }
}

// A text that would be hashed at each call is worth a digest of its own.
const longText = 256
