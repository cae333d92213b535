import type { GatewayError } from './errors.ts'
import type { Bytes } from './reply-bytes.ts'
import { errorInChunk } from './reported-error.ts'
import { createEventAligner, createSseReader, type SseEvent, textFromEvent } from './sse.ts'
import { chunkFromData, createStreamState, endedEarly, isWhole, noteChunk } from './stream-state.ts'

/**
 * An event stream passed on untouched and cut only between events. Nothing is parsed but a part that could hold an error object, and,
 * without an end mark, the last few events. Throws `runner_error` when the stream ends with neither an end mark nor a finish reason for
 * what was under way, and what an error object in it reports.
 */
export async function* splicedEvents(bytes: Bytes, maxBytes?: number): AsyncGenerator<Buffer> {
  const aligner = createEventAligner(maxBytes)
  const tail: Buffer[] = []
  let tailLength = 0
  for await (const part of bytes) {
    const whole = aligner.push(part)
    if (!whole) continue
    if (whole.includes(errorWord)) yield* upToError(whole)
    else yield whole
    tail.push(whole)
    tailLength += whole.length
    while (tailLength - (tail[0] as Buffer).length >= tailBytes) tailLength -= (tail.shift() as Buffer).length
  }
  const rest = aligner.rest()
  const checked = rest?.includes(errorWord) ? [...upToError(rest)] : rest ? [rest] : []
  if (!saysFinished(Buffer.concat([...tail, ...checked]))) throw endedEarly()
  yield* checked
}

// Long enough for the last content chunk, a finish chunk and a usage chunk. What is kept begins with an event.
const tailBytes = 4096
// Inside a string its quotes would be escaped, so this is always a member or a value of its own.
const errorWord = Buffer.from('"error"')

/** The part as it came, or, where one of its events is an error object, the events before that and then the error, thrown. */
function* upToError(part: Buffer): Generator<Buffer> {
  let before = ''
  for (const event of eventsOf(part)) {
    const error = errorInEvent(event)
    if (error) {
      if (before) yield Buffer.from(before)
      throw error
    }
    before += textFromEvent(event)
  }
  yield part
}

function errorInEvent({ data }: SseEvent): GatewayError | undefined {
  if (!data.includes('"error"')) return undefined
  try {
    return errorInChunk(chunkFromData(data))
  } catch {
    return undefined
  }
}

function saysFinished(tail: Buffer): boolean {
  const text = tail.subarray(-tailBytes).toString('latin1')
  if (/(?:^|[\r\n])data: ?\[DONE\]/.test(text) || /"type"\s*:\s*"message_stop"/.test(text)) return true
  const state = createStreamState()
  for (const { data } of eventsOf(tail)) {
    try {
      noteChunk(state, chunkFromData(data))
    } catch {
      // Not a chunk: it says nothing of a choice.
    }
  }
  return isWhole(state)
}

function eventsOf(part: Buffer): readonly SseEvent[] {
  const reader = createSseReader(Number.MAX_SAFE_INTEGER)
  return [...reader.push(part).events, ...reader.end().events]
}
