import type { Fault } from '../errors.ts'
import { compilePath } from '../path.ts'
import type { CacheConfig } from './config.ts'

/**
 * What `check` warns of: hash fields that leave the last user message out, so that different questions would share one answer. Empty
 * when all is well. Pure.
 */
export function warnings(config: Pick<CacheConfig, 'input_hash_fields'>): Fault[] {
  if (!config.input_hash_fields) return []
  const covered = config.input_hash_fields.some((each) =>
    coversLastMessage(typeof each === 'string' ? each : each.path),
  )
  if (covered) return []
  const message =
    'the last user message is not covered; add messages[-1].content, or different questions get the same answer'
  return [{ path: 'input_hash_fields', message }]
}

function coversLastMessage(text: string): boolean {
  try {
    const { source, steps } = compilePath(text, new Set())
    const [list, index, member, ...deeper] = steps
    if (source !== 'body' || list !== 'messages' || deeper.length > 0) return false
    return index === undefined || (index === -1 && (member === undefined || member === 'content'))
  } catch {
    return false
  }
}
