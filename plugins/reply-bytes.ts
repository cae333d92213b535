import { type Chunk, jsonFromText } from './chat.ts'
import {
  type Completion,
  chunkFromCompletion,
  chunksFromCompletion,
  completionFromChunks,
  isUsageOnly,
} from './chunks.ts'
import { type GatewayError, gatewayError } from './errors.ts'
import { createEventAligner, createSseReader, doneText, heartbeatText, type SseEvent, textFromEvent } from './sse.ts'

/** What one network read brought: chunks, and whether a heartbeat was among it. */
export interface Batch {
  readonly chunks: readonly Chunk[]
  readonly commented: boolean
}

/** A body, in parts as they come, or already here. Read once. */
export type Bytes = AsyncIterable<Buffer> | Iterable<Buffer>

/** The longest JSON answer that is taken apart, in bytes, unless told otherwise: 64 MiB. */
const defaultMaxBodyBytes = 64 * 1024 * 1024

// The event a chunk was read from, so that a chunk nobody changed leaves as it came, byte for byte.
const eventOf = new WeakMap<Chunk, SseEvent>()
const bodyOf = new WeakMap<Chunk, Buffer>()

/**
 * Events as batches of chunks. Throws `runner_error` for an error the runner reports in band and when the stream ends before
 * every choice has finished and no end mark came.
 */
export async function* batchesFromBytes(bytes: Bytes, maxBytes?: number): AsyncGenerator<Batch> {
  const reader = createSseReader(maxBytes)
  const state = { done: false, open: new Set<number>(), finished: 0 }
  const read = (events: readonly SseEvent[], commented: boolean): Batch => {
    const chunks: Chunk[] = []
    for (const event of events) {
      const chunk = chunkFromEvent(event, state)
      if (chunk) chunks.push(chunk)
    }
    return { chunks, commented }
  }
  for await (const part of bytes) {
    const { events, commented } = reader.push(part)
    if (events.length > 0 || commented) yield read(events, commented)
  }
  const rest = reader.end()
  if (rest.events.length > 0) yield read(rest.events, false)
  if (!state.done && (state.open.size > 0 || state.finished === 0)) throw endedEarly()
}

interface StreamState {
  done: boolean
  readonly open: Set<number>
  finished: number
}

function chunkFromEvent(event: SseEvent, state: StreamState): Chunk | undefined {
  if (event.data === '[DONE]') {
    state.done = true
    return undefined
  }
  const chunk = parsedEvent(event)
  if (chunk.error !== undefined && chunk.error !== null) throw reportedError(chunk.error)
  for (const choice of chunk.choices ?? []) {
    if (choice.finish_reason) {
      state.open.delete(choice.index)
      state.finished++
    } else state.open.add(choice.index)
  }
  eventOf.set(chunk, event)
  return chunk
}

function parsedEvent(event: SseEvent): Chunk {
  try {
    const value = jsonFromText(event.data)
    if (value && typeof value === 'object') return value as Chunk
  } catch {
    // Falls through: what is not JSON and what is not an object are the same fault.
  }
  throw gatewayError('runner_protocol', 'the runner sent an event that is not a JSON object')
}

/** An error object that a runner sent after it had said 200, as our error: its message is kept, cut to 500 characters. */
export function reportedError(error: unknown): GatewayError {
  const said = typeof error === 'object' && error !== null ? (error as Record<string, unknown>)['message'] : error
  const message = typeof said === 'string' && said ? said.slice(0, 500) : 'the runner reported an error'
  return gatewayError('runner_error', message)
}

/** The stream stopped before it was whole. */
export function endedEarly(): GatewayError {
  return gatewayError('runner_error', 'the runner ended the stream before the answer was complete')
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
    const [only] = chunks
    const asItCame = chunks.length === 1 && only ? bodyOf.get(only) : undefined
    yield asItCame ?? Buffer.from(JSON.stringify(completionFromChunks(chunks)))
    return
  }
  for await (const { chunks, commented } of batches) {
    let text = commented && chunks.length === 0 ? heartbeatText : ''
    for (const chunk of chunks) {
      // Who did not ask for the usage chunk may trip over its empty choices.
      if (shape.includeUsage || !isUsageOnly(chunk))
        text += textFromEvent(eventOf.get(chunk) ?? { data: JSON.stringify(chunk) })
    }
    if (text) yield Buffer.from(text)
  }
  yield Buffer.from(doneText)
}

/** One JSON answer as a batch: a single chunk, or, when the caller asked for a stream, the chunks of one. */
export async function batchFromJson(bytes: Bytes, streamed: boolean, maxBytes?: number): Promise<Batch> {
  const body = await wholeBody(bytes, maxBytes)
  const completion = completionFromBody(body)
  if (streamed) return { chunks: chunksFromCompletion(completion, true), commented: false }
  const chunk = chunkFromCompletion(completion)
  bodyOf.set(chunk, body)
  return { chunks: [chunk], commented: false }
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

/**
 * An event stream passed on untouched and cut only between events. Throws `runner_error` when it ends with neither an end
 * mark nor a finish reason in its last bytes.
 */
export async function* splicedEvents(bytes: Bytes, maxBytes?: number): AsyncGenerator<Buffer> {
  const aligner = createEventAligner(maxBytes)
  let tail: Buffer | undefined
  for await (const part of bytes) {
    const whole = aligner.push(part)
    if (!whole) continue
    tail = whole.length >= tailBytes || !tail ? whole : Buffer.concat([tail, whole]).subarray(-tailBytes)
    yield whole
  }
  const rest = aligner.rest()
  if (rest) tail = tail ? Buffer.concat([tail, rest]) : rest
  if (!tail || !saysFinished(tail.subarray(-tailBytes).toString('latin1'))) throw endedEarly()
  if (rest) yield rest
}

// Long enough for the last content chunk, a finish chunk and a usage chunk.
const tailBytes = 4096

function saysFinished(text: string): boolean {
  return (
    /data:\s?\[DONE\]/.test(text) || /"finish_reason"\s*:\s*"/.test(text) || /"type"\s*:\s*"message_stop"/.test(text)
  )
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
