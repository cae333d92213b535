import { type Chunk, type ChunkChoice, jsonFromText } from './chat.ts'
import { type GatewayError, gatewayError } from './errors.ts'
import type { SseEvent } from './sse.ts'

/** How far a stream has come: whether its end mark was there, which choices are under way and how many have finished. */
export interface StreamState {
  done: boolean
  readonly open: Set<number>
  finished: number
}

/** The state of a stream that has not begun. */
export function createStreamState(): StreamState {
  return { done: false, open: new Set(), finished: 0 }
}

/** Notes what a chunk says of its choices. */
export function noteChunk(state: StreamState, { choices }: Chunk): void {
  for (const choice of choices ?? []) {
    if (choice.finish_reason) {
      state.open.delete(choice.index)
      state.finished++
    } else state.open.add(choice.index)
  }
}

/** True when a stream that ends now is whole: it has its end mark, or all that began has finished. */
export function isWhole({ done, open, finished }: StreamState): boolean {
  return done || (open.size === 0 && finished > 0)
}

/** The stream stopped before it was whole. */
export function endedEarly(): GatewayError {
  return gatewayError('runner_error', 'the runner ended the stream before the answer was complete')
}

/** An event's data as a chunk. Throws `runner_protocol` for what is none. */
export function chunkFromData(data: string): Chunk {
  let value: unknown
  try {
    value = jsonFromText(data)
  } catch {
    // Falls through: what is not JSON and what is not an object are the same fault.
  }
  if (value === null || typeof value !== 'object') {
    throw gatewayError('runner_protocol', 'the runner sent an event that is not a JSON object')
  }
  const { choices } = value as Chunk
  if (choices !== undefined && choices !== null && !(Array.isArray(choices) && choices.every(isChoice))) {
    throw gatewayError('runner_protocol', 'the runner sent an event whose choices are no list of objects')
  }
  return value as Chunk
}

function isChoice(choice: ChunkChoice | null): boolean {
  return typeof choice === 'object' && choice !== null
}

/** An event that says nothing: some servers send one, instead of a comment, to keep a connection alive. */
export function isHeartbeat({ data, event }: SseEvent): boolean {
  return data === '' || (event === 'ping' && !data.includes('"choices"'))
}
