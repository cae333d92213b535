import type { Piece } from '../engine.ts'
import type { Refusal } from '../refusal.ts'
import type { Result } from './llama-messages.ts'

/** What came from the engine process for one piece of work and was not read yet. */
export interface Inbox {
  push(piece: Piece): void
  finish(result: Result): void
  /** Ends it in an error, after the pieces before it or, `atOnce`, without them. The first error stays. */
  fail(error: Refusal, atOnce: boolean): void
  /** Waits for the next piece, or the result. Throws the error it ended in. */
  next(): Promise<Piece | { readonly kind: 'result'; readonly result: Result }>
}

/** An empty inbox for one reader; `onTake` hears of every piece read. */
export function createInbox(onTake: () => void): Inbox {
  const pieces: Piece[] = []
  let result: Result | undefined
  let error: Refusal | undefined
  let wake = (): void => undefined
  return {
    push(piece) {
      pieces.push(piece)
      wake()
    },
    finish(given) {
      result = given
      wake()
    },
    fail(given, atOnce) {
      error ??= given
      if (atOnce) pieces.length = 0
      wake()
    },
    async next() {
      for (;;) {
        const piece = pieces.shift()
        if (piece) {
          onTake()
          return piece
        }
        if (error) throw error
        if (result !== undefined) return { kind: 'result', result }
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
  }
}
