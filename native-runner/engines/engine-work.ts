import type { Piece } from '../engine.ts'
import { type Refusal, refusal } from '../refusal.ts'
import type { FromEngine, Result, ToEngine } from './llama-messages.ts'

/** Pieces the engine process may be ahead of their reader. */
export const creditWindow = 32

/** Something the engine process was asked to do, seen from our side. */
export interface Work {
  readonly id: number
  /** The next piece, or the result that ends it. Throws the refusal that it ended in. */
  next(): Promise<Piece | { readonly kind: 'result'; readonly result: Result }>
  receive(message: FromEngine): void
  fail(error: Refusal): void
  /** Asks the process to stop; the reader is told at once, `ended` settles when the process has stopped. */
  cancel(reason: Refusal): void
  /** Whether the process owes a sign of life since longer than its timeout. */
  overdue(now: number): boolean
  /** Settles when the process is through with it, however it ended. */
  readonly ended: Promise<void>
}

/** How one piece of work talks and how long it may be silent. */
export interface WorkOptions {
  readonly id: number
  readonly timeoutMs: number
  /** Whether pieces are counted against a window; other work owes a sign of life all the time. */
  readonly credited: boolean
  readonly send: (message: ToEngine) => void
}

/** The record of one piece of work. */
export function createWork(options: WorkOptions): Work {
  const { id, send } = options
  const ended = Promise.withResolvers<void>()
  const waiting: Piece[] = []
  let result: Result | undefined
  let error: Refusal | undefined
  let over = false
  let cancelled = false
  let wake = (): void => undefined
  let taken = 0
  let owed = options.credited ? creditWindow : Number.POSITIVE_INFINITY
  let lastSign = performance.now()
  const end = (): void => {
    over = true
    ended.resolve()
    wake()
  }
  const take = (): Piece | undefined => {
    const piece = waiting.shift()
    if (piece && ++taken === creditWindow / 2) {
      send({ kind: 'credit', id, pieces: taken })
      owed += taken
      taken = 0
      // While the window was full nothing was owed; the clock starts anew.
      lastSign = performance.now()
    }
    return piece
  }
  return {
    id,
    ended: ended.promise,
    async next() {
      for (;;) {
        if (error && (cancelled || waiting.length === 0)) throw error
        const piece = take()
        if (piece) return piece
        if (result !== undefined) return { kind: 'result', result }
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
    receive(message) {
      lastSign = performance.now()
      if (message.kind === 'piece') {
        owed--
        if (!cancelled) waiting.push(message.piece)
        wake()
      } else if (message.kind === 'result') {
        result = message.result
        end()
      } else if (message.kind === 'failed') {
        error ??= refusal(message.code, message.message, message.param === undefined ? {} : { param: message.param })
        end()
      }
    },
    fail(reason) {
      error ??= reason
      end()
    },
    cancel(reason) {
      if (over || cancelled) return
      cancelled = true
      error ??= reason
      owed = Number.POSITIVE_INFINITY
      lastSign = performance.now()
      send({ kind: 'cancel', id })
      wake()
    },
    overdue: (now) => !over && owed > 0 && now - lastSign > options.timeoutMs,
  }
}
