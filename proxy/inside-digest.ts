import type { Call } from '../plugins/call.ts'
import { canonicalJson, sha256 } from '../plugins/canonical.ts'
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
    let rules = ''
    for (const { name, routes } of inside) {
      const layer = routes.includes(call.route) ? acting.get(name) : undefined
      if (!layer?.ruleFor) continue
      const rule = layer.ruleFor(call)
      if (rule === undefined) return undefined
      rules += `${name}=${textOf(rule)}\n`
    }
    return sha256(rules)
  }
}

const known = new WeakMap<object, string>()

/** A rule as text for the digest. A layer that gives the same object for the same rule has it digested once, however long it is. */
function textOf(rule: unknown): string {
  if (typeof rule !== 'object' || rule === null) return canonicalJson(rule)
  const digest = known.get(rule)
  if (digest !== undefined) return digest
  const text = canonicalJson(rule)
  // Short ones cost less than remembering them: most are made anew for each call.
  if (text.length < 4096) return text
  known.set(rule, sha256(text))
  return sha256(text)
}
