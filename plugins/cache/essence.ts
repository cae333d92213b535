import type { Answer, Refuse, Verdict } from '../verdict.ts'
import type { CacheKey } from './rule.ts'

/** Keys of calls that got no further, by what they got: an answer has no facts. */
const keys = new WeakMap<object, CacheKey>()

/** The verdict, with the key that it was found by. */
export function known(verdict: Answer | Refuse, key: CacheKey): Verdict {
  keys.set(verdict.kind === 'answer' ? verdict.reply : verdict.error, key)
  return verdict
}

/**
 * What must agree between the halves: the key, or why there is none. Whether an answer is there is the state of a side. The code of a
 * refusal that came before there was a key.
 */
export function essence(verdict: Verdict): unknown {
  if (verdict.kind === 'pass') return verdict.facts.cacheKey
  const said = verdict.kind === 'answer' ? verdict.reply : verdict.error
  return keys.get(said) ?? { code: verdict.kind === 'refuse' ? verdict.error.code : null }
}
