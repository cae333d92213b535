import type { Log } from '../plugins/host.ts'
import type { AnswerLooks } from './answer-looks.ts'
import type { CallRecord } from './call-record.ts'
import type { Caller } from './caller.ts'
import type { Consumers } from './consumers.ts'
import type { Flights } from './flights.ts'
import type { PressureGauge } from './pressure.ts'
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
  /** True while streams are made from whole answers, since a person said so. */
  readonly unstreamed: () => boolean
  /** Calls under way. */
  readonly flights: Flights
  /** Who still asks for old headers. */
  readonly consumers: Consumers
  /** How short of room the gateway is. */
  readonly pressure: PressureGauge
  /** Keeps what a caller thinks of a recent answer of its own; false when no such call is remembered. */
  noteFeedback(feedback: Feedback, who: string | undefined): Promise<boolean>
  /** Looks at a sample of the answers of a rollout. */
  readonly looks: AnswerLooks
  /** A call is over: it is kept for `explain`. */
  remember(caller: Caller, record: CallRecord, facts: { readonly route: string; readonly status: number }): void
}
