import type { Call } from '../call.ts'
import { canonicalJson, sha256 } from '../canonical.ts'
import type { Route } from '../chat.ts'
import { type Side, sideKeys } from '../host.ts'
import { absent, type Path, readPath } from '../path.ts'
import type { Limit } from './limits.ts'
import type { Measure } from './rule.ts'

// These have no body of a known shape.
const bodiless: ReadonlySet<Route> = new Set(['models', 'passthrough'])

/** Where a limit counts one call. */
export interface Place {
  /** Keys with the same tag lie on one node of a cluster and are taken in one step. */
  readonly tag: string
  /** The key of one of the limit's quotas. */
  key(of: Measure): string
}

/**
 * Where a limit counts a call on one side: by the values of its key fields. What is absent counts as one value of its own. No two sides share
 * a counter, whoever of them decides.
 */
export function placeOf(limit: Limit, call: Call, side: Side): Place {
  const values = limit.paths.map((path) => valueAt(path, call)).join(':')
  const tag = limit.ofTenant ? `t:${plain(call.facts.principal?.tenant)}` : `k:${limit.name}:${values}`
  const head = `rl:${sideKeys[side]}:{${tag}}:${limit.name}:${values}:`
  return { tag, key: (of) => head + of }
}

function valueAt(path: Path, call: Call): string {
  if (path.source === 'body' && bodiless.has(call.route)) return '-'
  return plain(readPath(path, call))
}

/** A value as part of a key: as it is where it is short and harmless, else its digest. Absent is `-`, which no value is. */
function plain(value: unknown): string {
  if (value === absent || value === undefined) return '-'
  if (typeof value === 'string' && /^[A-Za-z0-9_.@][A-Za-z0-9_.@-]{0,63}$/.test(value)) return value
  return `-${sha256(canonicalJson(value)).slice(0, 32)}`
}
