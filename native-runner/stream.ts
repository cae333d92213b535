import type { Piece } from './engine.ts'
import { bodyFromRefusal, refusal, refusalFrom } from './refusal.ts'
import { doneEvent, type Envelope, eventFromPiece, openingEvent } from './wire.ts'

/** Headers of an event stream: no cache and no proxy may hold its events back. */
export const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
} as const

/** Pieces whose first has been made already, so that a refusal before it can still be a plain HTTP error. */
export async function begun(pieces: AsyncIterable<Piece>, signal: AbortSignal): Promise<AsyncIterable<Piece>> {
  const iterator = pieces[Symbol.asyncIterator]()
  const first = await iterator.next()
  // A generator that nobody started to read never runs its `finally`: the call's end must reach the engine by itself.
  const leave = (): void => void iterator.return?.()?.catch(() => undefined)
  if (signal.aborted) leave()
  else signal.addEventListener('abort', leave, { once: true })
  async function* rest(): AsyncGenerator<Piece> {
    try {
      for (let step = first; !step.done; step = await iterator.next()) yield step.value
    } finally {
      await iterator.return?.()
    }
  }
  return rest()
}

/** The event that says in band what went wrong; what follows it is never `[DONE]`. */
export function errorEvent(body: object): string {
  return `data: ${JSON.stringify(body)}\n\n`
}

/**
 * The server-sent events of an answer, `[DONE]` last. Throws what ends it early, and `engine_failed` when the engine ends before every
 * choice it began has finished.
 */
export async function* wholeEvents(
  envelope: Envelope,
  pieces: AsyncIterable<Piece>,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const open = new Set<number>()
  const seen = new Set<number>()
  for await (const piece of pieces) {
    let event = ''
    if (piece.kind !== 'usage' && !seen.has(piece.index)) {
      seen.add(piece.index)
      open.add(piece.index)
      event = openingEvent(envelope, piece.index)
    }
    if (piece.kind === 'finish') open.delete(piece.index)
    event += eventFromPiece(envelope, piece)
    if (event) yield event
  }
  if (seen.size === 0 || open.size > 0) {
    signal.throwIfAborted()
    throw refusal('engine_failed', 'the engine ended before its answer did')
  }
  yield doneEvent
}

/** {@link wholeEvents} in which a failure on the way becomes an in-band error event and ends the stream without `[DONE]`. */
export async function* eventsFromPieces(
  envelope: Envelope,
  pieces: AsyncIterable<Piece>,
  signal: AbortSignal,
): AsyncGenerator<string> {
  try {
    yield* wholeEvents(envelope, pieces, signal)
  } catch (error) {
    yield errorEvent(bodyFromRefusal(refusalFrom(signal.aborted ? signal.reason : error)))
  }
}
