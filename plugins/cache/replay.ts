import type { Call } from '../call.ts'
import { jsonFromText } from '../chat.ts'
import type { Completion } from '../chunks.ts'
import { type Reply, type ReplyInit, replyFromBytes, replyFromCompletion } from '../reply.ts'
import type { Entry } from './entry.ts'

/**
 * A stored answer in the shape this caller asked for. A whole one leaves as the bytes that are stored; of a stream the chunks are made
 * anew. Every member is kept.
 */
export function replyFromEntry({ meta, json }: Entry, call: Call, headers: Readonly<Record<string, string>>): Reply {
  return replay(json, call, { headers, ...(meta.target ? { target: meta.target } : {}) })
}

/** As {@link replyFromEntry}, for an answer that is at hand as JSON bytes. */
export function replay(json: Buffer, call: Call, about: Pick<ReplyInit, 'headers' | 'target'>): Reply {
  const { stream, stream_options } = call.request
  const init: ReplyInit = {
    ...about,
    status: 200,
    streamed: stream === true,
    includeUsage: stream_options?.include_usage === true,
    source: 'cache',
  }
  if (!init.streamed) return replyFromBytes(init, 'json', only(json))
  return replyFromCompletion(init, jsonFromText(json.toString('utf8')) as Completion)
}

async function* only(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}
