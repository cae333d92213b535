import type { Reply } from '../reply.ts'
import { type Bill, free, oneRequest } from './account.ts'

// Beside 5xx: the runner's refusal to work, not a mistake of the caller.
const runnersFault: ReadonlySet<number> = new Set([401, 403, 408, 429])

/**
 * What a call costs where the beginning of its answer says it: a cached answer is a request, a failure of the runner nothing, a mistake of
 * the caller a request. Undefined: the answer has to be watched to its end.
 */
export function billAtOnce(reply: Pick<Reply, 'source' | 'status'>): Bill | undefined {
  if (reply.source === 'cache') return oneRequest
  if (reply.status < 400) return undefined
  return reply.status >= 500 || runnersFault.has(reply.status) ? free : oneRequest
}
