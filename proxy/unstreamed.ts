import type { Call } from '../plugins/call.ts'
import { streamHeaders } from '../plugins/headers.ts'
import { type Reply, replyFromCompletion } from '../plugins/reply.ts'
import { asksForUsage } from './outgoing-body.ts'

/** A call that wants a stream, asked for without one (`degrade --no-stream`). */
export interface Unstreamed {
  /** As every layer and the runner see it: `stream` is false, and nothing is said of streams. */
  readonly call: Call
  /** The answer as the stream that the caller asked for: its content in one piece, the finish, usage where asked for, the end mark. */
  streamed(reply: Reply): Promise<Reply>
}

/** What is said of an answer that could not be streamed, behind the prefix. */
export const degradedHeader = 'degraded'

/** Takes the stream out of a call; undefined where its caller wants none. Throws as `call.request`. `header` tells the caller. */
export function withoutStream(call: Call, header: string): Unstreamed | undefined {
  // The name of the member must stand in the bytes before they are read.
  if (call.route === 'embeddings' || !call.body.includes('"strea') || call.request.stream !== true) return undefined
  const { stream_options: _, ...request } = call.request
  const includeUsage = asksForUsage(call.request)
  return {
    call: call.with({}, { ...request, stream: false }),
    async streamed(reply) {
      if (!reply.ok) return reply
      // Read whole first: what breaks on the way still has its true status then.
      const { completion } = await reply.collect()
      const { status, source, target } = reply
      const headers = { ...reply.headers, 'content-type': streamHeaders['content-type'], [header]: 'no-stream' }
      const init = { status, headers, source, streamed: true, includeUsage, ...(target ? { target } : {}) }
      return replyFromCompletion(init, completion)
    },
  }
}
