import type { Chunk } from '../plugins/chat.ts'
import { errorInChunk } from '../plugins/reported-error.ts'
import { createSseReader, type SseEvent } from '../plugins/sse.ts'
import { isHeartbeat } from '../plugins/stream-state.ts'

/**
 * Reads a stream up to its first word, while another runner could still take over without the caller noticing: an error object
 * as the first event, or a connection that breaks before any content, throws here. Gives the stream back whole.
 */
export async function peekEvents(body: AsyncIterable<Buffer>, options: PeekOptions): Promise<AsyncIterable<Buffer>> {
  const source = body[Symbol.asyncIterator]()
  const reader = createSseReader(options.maxEventBytes)
  const seen: Buffer[] = []
  let seenBytes = 0
  let heldUntil: number | undefined
  let pending: Promise<IteratorResult<Buffer>> | undefined
  try {
    for (;;) {
      pending ??= source.next()
      const next = heldUntil === undefined ? await pending : await soon(pending, heldUntil - performance.now())
      if (next === 'late') {
        // Its failure is met when the stream is read on, or never, when the caller is gone by then.
        pending.catch(() => undefined)
        break
      }
      pending = undefined
      if (next.done) return replay(seen, undefined, source)
      seen.push(next.value)
      seenBytes += next.value.length
      heldUntil ??= performance.now() + options.holdMs
      const { events, commented } = reader.push(next.value)
      // A heartbeat must reach the caller now; what comes after it can only fail in band.
      if (events.some(speaks) || commented) break
      if (seenBytes > maxHeldBytes || performance.now() > heldUntil) break
    }
  } catch (error) {
    await source.return?.()
    throw error
  }
  return replay(seen, pending, source)
}

// A preamble is a role chunk or two; more than this is an answer, whatever it says.
const maxHeldBytes = 64 * 1024

/** How long, and how much. */
export interface PeekOptions {
  /** Milliseconds that a preamble without content may be held back. */
  readonly holdMs: number
  readonly maxEventBytes?: number
}

/** True for an event with content; false for a preamble such as the role chunk. Throws what an error event reports. */
function speaks({ data, event }: SseEvent): boolean {
  if (data === '[DONE]' || isHeartbeat({ data, event })) return true
  let chunk: Chunk
  try {
    chunk = JSON.parse(data) as Chunk
  } catch {
    return true
  }
  if (chunk === null || typeof chunk !== 'object') return true
  const error = errorInChunk(chunk)
  if (error) throw error
  return !chunk.choices?.every((choice) => !choice.finish_reason && isPreamble(choice))
}

function isPreamble(choice: NonNullable<Chunk['choices']>[number]): boolean {
  if (choice.text) return false
  return Object.entries(choice.delta ?? {}).every(([key, value]) => key === 'role' || value === '' || value === null)
}

async function soon<T>(promise: Promise<T>, ms: number): Promise<T | 'late'> {
  if (ms <= 0) return 'late'
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, ms, 'late')
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

async function* replay(
  seen: readonly Buffer[],
  pending: Promise<IteratorResult<Buffer>> | undefined,
  source: AsyncIterator<Buffer>,
): AsyncGenerator<Buffer> {
  try {
    yield* seen
    for (let next = await (pending ?? source.next()); !next.done; next = await source.next()) yield next.value
  } finally {
    await source.return?.()
  }
}
