import type { ReplyContext } from '../runner-reply.ts'
import type { FoldedExchange } from './send.ts'

/**
 * How the answer to a call with a context is taken: word for word, since the layers of the runner have spoken. Where nobody here has read the
 * body, `blind`, the answer itself says whether it is a stream.
 */
export function replyContextOf(context: ReplyContext, { exchange }: FoldedExchange, blind: boolean): ReplyContext {
  const events = /event-stream/i.test(exchange.headers['content-type'] ?? '')
  return blind ? { ...context, acknowledged: true, streamed: events } : { ...context, acknowledged: true }
}
