import type { Memory } from './admin/stories.ts'
import { type AnswerLooks, createAnswerLooks } from './answer-looks.ts'
import type { CallRecord } from './call-record.ts'
import type { Caller } from './caller.ts'
import type { Configured } from './configured.ts'
import type { Collector } from './folding/collect/collector.ts'
import { createRatableCalls } from './ratable-calls.ts'
import type { Feedback } from './routes/feedback.ts'
import { type PastCall, whoCalled } from './stories.ts'
import type { GatewayLog } from './telemetry/log.ts'

/** What is thought of answers: what a look at them shows, what callers say, and what the scorer of the cache says. */
export interface Opinions {
  readonly looks: AnswerLooks
  /** A call is about to be let go: whoever made it may still rate it. */
  remember(caller: Pick<Caller, 'id' | 'requestId'>, record: CallRecord): void
  /** Keeps what a caller thinks of a call of its own; false where it has none by this id. Only the first word of a call is evidence. */
  rate(feedback: Feedback, who: string | undefined): Promise<boolean>
}

/** What opinions are kept with. */
export interface OpinionParts {
  readonly configured: Pick<Configured, 'setup' | 'drift'>
  readonly collector: Pick<Collector, 'opined'>
  readonly stories: Memory<PastCall>
  readonly log: GatewayLog
}

/** Makes {@link Opinions}. */
export function createOpinions({ configured, collector, stories, log }: OpinionParts): Opinions {
  const ratable = createRatableCalls(() => configured.setup().host)
  return {
    looks: createAnswerLooks({
      elapsed: () => performance.now(),
      fingerprint: configured.drift.named,
      seen(record, chunks) {
        const { quality } = configured.setup()
        const drawn = record.fold?.flight?.call
        if (!quality || !drawn || !record.call) return
        quality.judge(record.call, chunks, (poor) =>
          collector.opined(drawn, { trial: 'scored', event: poor ? 'poor' : undefined }),
        )
      },
    }),
    remember({ id, requestId }, record) {
      const drawn = record.fold?.flight?.call
      if (drawn) ratable.keep({ id, requestId, who: whoCalled(record), drawn })
    },
    async rate({ id, score }, who) {
      const past = stories.find(id)
      if (past && past.who !== who) return false
      const rated = await ratable.rated(id, who)
      if (!past && !rated) return false
      if (past) past.feedback = score
      if (rated?.fresh) collector.opined(rated.drawn, { trial: 'rated', event: score < 0 ? 'disliked' : undefined })
      log.info({ id: past?.id ?? id, score }, 'feedback')
      return true
    },
  }
}
