import { canonicalJson } from '../../../plugins/canonical.ts'
import { isRawJson, kindOf } from './difference.ts'

/** Where and how two JSON values differ. */
export interface JsonDifference {
  /** Such as `choices[0].message.role`; empty for the values themselves. */
  readonly path: string
  readonly kind: 'type' | 'value' | 'missing' | 'added' | 'length'
  readonly old: unknown
  readonly now: unknown
}

/** How far the search goes, and what is taken whole. */
export interface Search {
  /** True for a place that the caller compares itself; it is not gone into. */
  readonly whole?: (path: string, old: unknown, now: unknown) => boolean
}

/** The most differences that are listed of two values. */
export const mostDifferences = 200
const deepest = 100

/** Every place where two JSON values differ, at most {@link mostDifferences}. Lists are compared by index, as far as both go. */
export function jsonDifferences(old: unknown, now: unknown, search: Search = {}): readonly JsonDifference[] {
  const found: JsonDifference[] = []
  walk({ path: '', old, now }, { found, depth: 0, ...search })
  return found
}

interface Pair {
  readonly path: string
  readonly old: unknown
  readonly now: unknown
}

interface Walk extends Search {
  readonly found: JsonDifference[]
  readonly depth: number
}

function walk(pair: Pair, at: Walk): void {
  const { path, old, now } = pair
  if (old === now || at.found.length >= mostDifferences || at.whole?.(path, old, now)) return
  const kind = kindOf(old)
  if (kind !== kindOf(now)) at.found.push({ path, kind: 'type', old, now })
  else if (at.depth >= deepest || (kind !== 'array' && kind !== 'object')) {
    if (!sameLeaf(old, now)) at.found.push({ path, kind: 'value', old, now })
  } else if (kind === 'array') walkList(pair, at)
  else walkMembers(pair, at)
}

function sameLeaf(old: unknown, now: unknown): boolean {
  return (isRawJson(old) || typeof old === 'object') && sameJson(old, now)
}

/** Whether two JSON values are the same, whatever the order of their members. Too deep for anybody to say is not the same. */
export function sameJson(old: unknown, now: unknown): boolean {
  try {
    return canonicalJson(old) === canonicalJson(now)
  } catch {
    return false
  }
}

function walkList({ path, old, now }: Pair, at: Walk): void {
  const [one, two] = [old as readonly unknown[], now as readonly unknown[]]
  if (one.length !== two.length) at.found.push({ path, kind: 'length', old: one.length, now: two.length })
  for (let index = 0; index < Math.min(one.length, two.length); index++) {
    walk({ path: `${path}[${index}]`, old: one[index], now: two[index] }, { ...at, depth: at.depth + 1 })
  }
}

function walkMembers({ path, old, now }: Pair, at: Walk): void {
  const [one, two] = [old as Record<string, unknown>, now as Record<string, unknown>]
  for (const key of new Set([...Object.keys(one), ...Object.keys(two)])) {
    const inside = path === '' ? key : `${path}.${key}`
    const [a, b] = [one[key], two[key]]
    if (a === undefined || b === undefined) {
      if (a === b || at.found.length >= mostDifferences || at.whole?.(inside, a, b)) continue
      at.found.push({ path: inside, kind: b === undefined ? 'missing' : 'added', old: a, now: b })
    } else walk({ path: inside, old: a, now: b }, { ...at, depth: at.depth + 1 })
  }
}
