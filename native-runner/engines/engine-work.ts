import { type Refusal, refusal } from '../refusal.ts'
import { createInbox, type Inbox } from './engine-inbox.ts'
import type { FromEngine, ToEngine } from './llama-messages.ts'

/** Pieces the engine process may be ahead of their reader. */
export const creditWindow = 32

/** Something the engine process was asked to do, seen from our side. */
export interface Work {
  readonly id: number
  /** The next piece, or the result that ends it. Throws the refusal that it ended in. */
  readonly next: Inbox['next']
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
  const now = { over: false, cancelled: false, taken: 0, owed: Number.POSITIVE_INFINITY, lastSign: performance.now() }
  if (options.credited) now.owed = creditWindow
  const end = (): void => {
    now.over = true
    ended.resolve()
  }
  const inbox = createInbox(() => {
    if (++now.taken < creditWindow / 2) return
    send({ kind: 'credit', id, pieces: now.taken })
    now.owed += now.taken
    now.taken = 0
    // While the window was full nothing was owed; the clock starts anew.
    now.lastSign = performance.now()
  })
  return {
    id,
    ended: ended.promise,
    next: inbox.next,
    receive(message) {
      now.lastSign = performance.now()
      if (message.kind === 'piece') {
        now.owed--
        if (!now.cancelled) inbox.push(message.piece)
      } else if (message.kind === 'result') {
        inbox.finish(message.result)
        end()
      } else if (message.kind === 'failed') {
        const { code, message: why, param } = message
        inbox.fail(refusal(code, why, param === undefined ? {} : { param }), false)
        end()
      }
    },
    fail(error) {
      inbox.fail(error, false)
      end()
    },
    cancel(reason) {
      if (now.over || now.cancelled) return
      now.cancelled = true
      now.owed = Number.POSITIVE_INFINITY
      now.lastSign = performance.now()
      send({ kind: 'cancel', id })
      inbox.fail(reason, true)
    },
    overdue: (at) => !now.over && now.owed > 0 && at - now.lastSign > options.timeoutMs,
  }
}
