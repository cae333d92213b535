import { createMemory, type Memory } from './admin/stories.ts'
import { type AnswerLooks, createAnswerLooks } from './answer-looks.ts'
import type { CallRecord } from './call-record.ts'
import type { Caller } from './caller.ts'
import type { Configured } from './configured.ts'
import type { Collector } from './folding/collect/collector.ts'
import type { Drawn } from './folding/collect/drawn.ts'
import type { Feedback } from './routes/feedback.ts'
import { type PastCall, whoCalled } from './stories.ts'
import type { GatewayLog } from './telemetry/log.ts'

/** What is thought of answers: what a look at them shows, what callers say, and what the scorer of the cache says. */
export interface Opinions {
  readonly looks: AnswerLooks
  /** A call is about to be let go: whoever made it may still rate it. */
  remember(caller: Pick<Caller, 'id' | 'requestId'>, record: CallRecord): void
  /** Keeps what a caller thinks of a call of its own; false where it has none by this id. Only the first word of a call is evidence. */
  rate(feedback: Feedback, who: string | undefined): boolean
}

/** What opinions are kept with. */
export interface OpinionParts {
  readonly configured: Pick<Configured, 'setup' | 'drift'>
  readonly collector: Pick<Collector, 'opined'>
  readonly stories: Memory<PastCall>
  readonly log: GatewayLog
}

interface Ratable {
  readonly id: string
  readonly requestId: string
  readonly who: string | undefined
  readonly drawn: Drawn
  rated: boolean
}

/** People take minutes to say what they think: calls of a rollout are remembered longer than others. */
const mostRatable = 20_000

/** Makes {@link Opinions}. */
export function createOpinions({ configured, collector, stories, log }: OpinionParts): Opinions {
  const ratable = createMemory<Ratable>(mostRatable)
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
      if (drawn) ratable.remember({ id, requestId, who: whoCalled(record), drawn, rated: false })
    },
    rate({ id, score }, who) {
      const [past, call] = [stories.find(id), ratable.find(id)]
      if ((!past && !call) || (past ?? call)?.who !== who) return false
      if (past) past.feedback = score
      if (call && !call.rated) {
        call.rated = true
        collector.opined(call.drawn, { trial: 'rated', event: score < 0 ? 'disliked' : undefined })
      }
      log.info({ id: (past ?? call)?.id, score }, 'feedback')
      return true
    },
  }
}
