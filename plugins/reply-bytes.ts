import { type Chunk, jsonFromText } from './chat.ts'
import {
  type Completion,
  chunkFromCompletion,
  chunksFromCompletion,
  completionFromChunks,
  isUsageOnly,
} from './chunks.ts'
import { GatewayError, gatewayError } from './errors.ts'
import { markOrigin, originOf } from './origin.ts'
import { errorInChunk } from './reported-error.ts'
import { createSseReader, doneText, heartbeatText, type SseEvent, textFromEvent } from './sse.ts'
import {
  chunkFromData,
  createStreamState,
  endedEarly,
  isHeartbeat,
  isWhole,
  noteChunk,
  type StreamState,
} from './stream-state.ts'

/** What one network read brought: chunks, and whether a heartbeat was among it. */
export interface Batch {
  readonly chunks: readonly Chunk[]
  readonly commented: boolean
}

/** A body, in parts as they come, or already here. Read once. */
export type Bytes = AsyncIterable<Buffer> | Iterable<Buffer>

/** The longest JSON answer that is taken apart, in bytes, unless told otherwise: 64 MiB. */
const defaultMaxBodyBytes = 64 * 1024 * 1024

// The document an only chunk was made from, so that one nobody changed leaves as it came, byte for byte.
const bodyOf = new WeakMap<Chunk, Buffer>()

/**
 * Events as batches of chunks. Throws what an error object among them reports, `runner_protocol` for an event that is no chunk, and
 * `runner_error` when the stream ends before every choice has finished and no end mark came; after what came before it.
 */
export async function* batchesFromBytes(bytes: Bytes, maxBytes?: number): AsyncGenerator<Batch> {
  const reader = createSseReader(maxBytes)
  const state: Reading = { ...createStreamState(), failure: undefined }
  for await (const part of bytes) {
    const { events, commented } = reader.push(part)
    if (events.length === 0 && !commented) continue
    const batch = batchOf(events, commented, state)
    if (batch.chunks.length > 0 || batch.commented) yield batch
    if (state.failure) throw state.failure
  }
  const rest = batchOf(reader.end().events, false, state)
  if (rest.chunks.length > 0) yield rest
  // An event that was cut off is no chunk, but what counts is that it was cut off.
  if (state.failure && !isProtocolFault(state.failure)) throw state.failure
  if (!isWhole(state)) throw endedEarly()
}

function isProtocolFault(reason: unknown): boolean {
  return reason instanceof GatewayError && reason.code === 'runner_protocol'
}

interface Reading extends StreamState {
  /** What an event brought to a stop; thrown once what came before it has gone on. */
  failure: unknown
}

function batchOf(events: readonly SseEvent[], comment: boolean, state: Reading): Batch {
  const chunks: Chunk[] = []
  let commented = comment
  try {
    for (const event of events) {
      if (event.data === '[DONE]') state.done = true
      else if (isHeartbeat(event)) commented = true
      else chunks.push(chunkFromEvent(event, state))
    }
  } catch (reason) {
    state.failure = reason
  }
  return { chunks, commented }
}

function chunkFromEvent(event: SseEvent, state: StreamState): Chunk {
  const chunk = chunkFromData(event.data)
  const error = errorInChunk(chunk)
  if (error) throw error
  noteChunk(state, chunk)
  markOrigin(chunk, event)
  return chunk
}

/** The shape the caller asked for. */
export interface Shape {
  readonly streamed: boolean
  readonly includeUsage: boolean
}

/** Batches as the bytes of an event stream, or of one JSON document when the caller did not ask for a stream. */
export async function* bytesFromBatches(batches: AsyncIterable<Batch>, shape: Shape): AsyncGenerator<Buffer> {
  if (!shape.streamed) {
    const chunks: Chunk[] = []
    for await (const batch of batches) chunks.push(...batch.chunks)
    yield documentFromChunks(chunks)
    return
  }
  for await (const { chunks, commented } of batches) {
    let text = commented && chunks.length === 0 ? heartbeatText : ''
    for (const chunk of chunks) {
      // Who did not ask for the usage chunk may trip over its empty choices.
      if (shape.includeUsage || !isUsageOnly(chunk))
        text += textFromEvent(originOf(chunk) ?? { data: JSON.stringify(chunk) })
    }
    if (text) yield Buffer.from(text)
  }
  yield Buffer.from(doneText)
}

/** Chunks as one JSON document; a document that nobody changed as it came, byte for byte. */
export function documentFromChunks(chunks: readonly Chunk[]): Buffer {
  const [only] = chunks
  const asItCame = chunks.length === 1 && only ? bodyOf.get(only) : undefined
  return asItCame ?? Buffer.from(JSON.stringify(completionFromChunks(chunks)))
}

/** One JSON answer as a batch: a single chunk, or, when the caller asked for a stream, the chunks of one. */
export async function batchFromJson(bytes: Bytes, streamed: boolean, maxBytes?: number): Promise<Batch> {
  const body = await wholeBody(bytes, maxBytes)
  if (!streamed) return { chunks: [chunkFromBody(body)], commented: false }
  return { chunks: chunksFromCompletion(completionFromBody(body), true), commented: false }
}

/** A JSON document as the one chunk that adds all of it. Throws `runner_protocol` for what is not a JSON object. */
export function chunkFromBody(body: Buffer): Chunk {
  const chunk = chunkFromCompletion(completionFromBody(body))
  bodyOf.set(chunk, body)
  return chunk
}

function completionFromBody(body: Buffer): Completion {
  try {
    const value = jsonFromText(body.toString('utf8'))
    if (value && typeof value === 'object') return value as Completion
  } catch {
    // Falls through: what is not JSON and what is not an object are the same fault.
  }
  throw gatewayError('runner_protocol', 'the runner answered with something that is not a JSON object')
}

/** A body read to its end. Throws `runner_protocol` when it is longer than `maxBytes`. */
export async function wholeBody(bytes: Bytes, maxBytes = defaultMaxBodyBytes): Promise<Buffer> {
  const parts: Buffer[] = []
  let length = 0
  for await (const part of bytes) {
    parts.push(part)
    length += part.length
    if (length > maxBytes) throw gatewayError('runner_protocol', `the runner's answer is longer than ${maxBytes} bytes`)
  }
  return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts, length)
}
