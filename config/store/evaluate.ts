import { createHash } from 'node:crypto'
import type { Script } from '../../plugins/store.ts'
import { codeOf, type Link } from './link.ts'

/** Prefix of every key of ours in Redis. */
export const keyPrefix = 'foldgate:'

// A command may lie in a socket while Redis stands still, and be read long after its caller gave up. Then it must do nothing: a
// charge that nobody will ever settle would be left behind.
const guard = `local until_ms = tonumber(table.remove(ARGV))
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + time[2] / 1000
if now_ms > until_ms then return redis.error_reply(string.format('STALE %d', now_ms)) end
`

interface Source {
  readonly text: string
  readonly sha: string
}

const sources = new WeakMap<Script, Source>()

function sourceOf(script: Script): Source {
  const known = sources.get(script)
  if (known) return known
  const text = guard + script.lua
  const made = { text, sha: createHash('sha1').update(text).digest('hex') }
  sources.set(script, made)
  return made
}

/** What a script is run on. */
export interface Run {
  readonly script: Script
  readonly keys: readonly string[]
  readonly args: readonly (string | number)[]
}

/**
 * Runs a script in Redis: by its digest, and once in full where Redis does not have it (after a restart, a failover or SCRIPT FLUSH).
 * Redis does not run it when it gets to it later than the command timeout. Throws `store_lost`, and error replies as they came.
 */
export async function evaluate(link: Link, { script, keys, args }: Run): Promise<readonly (number | string)[]> {
  const { text, sha } = sourceOf(script)
  const named = keys.map((key) => keyPrefix + key)
  let whole = false
  let relearned = false
  for (;;) {
    const words = [whole ? text : sha, named.length, ...named, ...args, link.deadline()]
    try {
      return (await link.ask((on) => on.call(whole ? 'EVAL' : 'EVALSHA', words))) as (number | string)[]
    } catch (reason) {
      const code = codeOf(reason)
      if (code === 'NOSCRIPT' && !whole) whole = true
      else if (code === 'STALE' && !relearned) {
        // It was answered in time, so it is our notion of Redis's clock that is wrong.
        relearned = true
        link.learn(Number((reason as Error).message.split(' ')[1]))
      } else throw reason
    }
  }
}
