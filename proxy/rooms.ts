import type { Log } from '../plugins/host.ts'
import type { CallRecord } from './call-record.ts'
import type { Caller } from './caller.ts'
import type { Feedback } from './routes/feedback.ts'
import type { Setup } from './setup.ts'
import type { Metrics } from './telemetry/metrics.ts'
import type { Tracing } from './telemetry/tracing.ts'

/** What the routes may use of the gateway around them. */
export interface Rooms {
  /** The configuration in force now, opened. A call keeps the one it began with. */
  readonly setup: () => Setup
  readonly metrics: Metrics
  readonly tracing: Tracing
  readonly log: Log
  /** True once the gateway has been told to leave: answers carry `Connection: close`. */
  readonly draining: () => boolean
  /** Calls under way. */
  readonly flights: Flights
  /** Keeps what a caller thinks of a recent answer; false when no such call is remembered. */
  noteFeedback(feedback: Feedback): boolean
  /** A call is over: it is kept for `explain`. */
  remember(caller: Caller, record: CallRecord, facts: { readonly route: string; readonly status: number }): void
}

/** Counts calls under way, and tells when there are none. */
export interface Flights {
  readonly count: number
  began(): void
  ended(): void
  /** Resolves when no call is under way, or when `signal` aborts. */
  none(signal: AbortSignal): Promise<void>
}

/** Makes the counter. */
export function createFlights(): Flights {
  let count = 0
  const waiting = new Set<() => void>()
  return {
    get count() {
      return count
    },
    began() {
      count++
    },
    ended() {
      count--
      if (count === 0) for (const wake of [...waiting]) wake()
    },
    none(signal) {
      if (count === 0 || signal.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const wake = (): void => {
          waiting.delete(wake)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        waiting.add(wake)
        signal.addEventListener('abort', wake)
      })
    },
  }
}
