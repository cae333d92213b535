import { type Chunk, jsonFromText } from '../../../plugins/chat.ts'
import { completionFromChunks } from '../../../plugins/chunks.ts'
import { createSseReader } from '../../../plugins/sse.ts'
import { chunkFromData, isHeartbeat } from '../../../plugins/stream-state.ts'
import { messageFromEvents } from './anthropic-answer.ts'
import type { AnswerHeaders } from './header-diff.ts'

/** A whole answer, however it came. */
export interface Answer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: AnswerHeaders
  /** A JSON value; the text of what is none. Streams are put together, so that where they were cut does not count. */
  readonly body: unknown
}

/** An answer as it came over the wire. */
export interface RawAnswer {
  readonly status: number
  readonly headers: AnswerHeaders
  readonly body: Buffer
}

/** An answer from its bytes: JSON parsed, streams of either dialect put together. Never throws: what cannot be read is text. */
export function answerFromBytes({ status, headers, body }: RawAnswer): Answer {
  const type = String(headers['content-type'] ?? '')
  return { status, headers, body: /event-stream/i.test(type) ? fromEvents(body) : fromText(body.toString('utf8')) }
}

/** An answer from the chunks of a stream (OpenAI). */
export function answerFromChunks(
  chunks: Iterable<Chunk>,
  { status, headers }: Pick<Answer, 'status' | 'headers'>,
): Answer {
  return { status, headers, body: completionFromChunks(chunks) }
}

function fromText(text: string): unknown {
  try {
    return jsonFromText(text)
  } catch {
    return text
  }
}

function fromEvents(body: Buffer): unknown {
  try {
    const reader = createSseReader()
    const events = [...reader.push(body).events, ...reader.end().events].filter((event) => !isHeartbeat(event))
    if (events[0]?.data.includes('"message_start"')) return messageFromEvents(events.map(({ data }) => fromText(data)))
    return completionFromChunks(events.filter(({ data }) => data !== '[DONE]').map(({ data }) => chunkFromData(data)))
  } catch {
    return body.toString('utf8')
  }
}
