import type { Chunk } from './chat.ts'
import type { SseEvent } from './sse.ts'

// A constructor that gives back the object it is given, so that a subclass puts its private field on that very object.
const Given = function given(object: object): object {
  return object
} as unknown as new (
  object: object,
) => object

// A class because only a private field is both invisible to whoever copies a chunk and, unlike an entry of a WeakMap, free: a map of every
// chunk under way costs as much as parsing them, and its growth shows in the event loop.
class Origin extends Given {
  readonly #event: SseEvent

  constructor(chunk: Chunk, event: SseEvent) {
    super(chunk)
    this.#event = event
  }
  static of(chunk: object): SseEvent | undefined {
    return #event in chunk ? chunk.#event : undefined
  }
}

/** Remembers which event a chunk was read from. Once a chunk; a copy of it has no origin. */
export function markOrigin(chunk: Chunk, event: SseEvent): void {
  void new Origin(chunk, event)
}

/** The event a chunk was read from, so that one nobody changed leaves as it came; undefined for a chunk that was made here. */
export function originOf(chunk: Chunk): SseEvent | undefined {
  return Origin.of(chunk)
}
