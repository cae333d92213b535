import type { Chunk, ChunkChoice } from '../plugins/chat.ts'
import type { Reply } from '../plugins/reply.ts'
import type { CallRecord } from './call-record.ts'

/** What was seen of an answer that was looked at: nothing that was said in it. */
export interface AnswerLook {
  /** Why its first choice ended, as the runner said it. */
  readonly finish: string
  /** The model declined: a refusal, or a content filter. */
  readonly declined: boolean
  /** Length of the text of its first choice, in UTF-16 units. */
  readonly chars: number
}

/** Looks at a sample of the answers of calls that belong to a rollout, in both arms alike. */
export interface AnswerLooks {
  /** The reply, looked at as it goes by where it is drawn; else the very same. */
  at(reply: Reply, record: CallRecord): Reply
}

/** What looks are made with. */
export interface LookParts {
  /** A clock that never goes back, in milliseconds. */
  elapsed(): number
  /** An answer named what its model runs on. */
  fingerprint(of: { readonly runner: string; readonly model: string }, fingerprint: string): void
  /** An answer that was looked at has ended whole. */
  seen?(record: CallRecord, chunks: readonly Chunk[]): void
}

/** Answers that are looked at a second, and at once after a pause: each costs a parse of its chunks. */
const [aSecond, atOnce] = [20, 40]
/** Text beyond this is measured and not kept, in UTF-16 units. */
const mostKept = 65_536

const looks = new WeakMap<CallRecord, AnswerLook>()

/** What was seen of the answer of a call; undefined where nobody looked, or it did not end whole. */
export function lookAt(record: CallRecord): AnswerLook | undefined {
  return looks.get(record)
}

/** Makes {@link AnswerLooks}. The sample hangs on time alone, so that no arm is looked at more. */
export function createAnswerLooks(parts: LookParts): AnswerLooks {
  let left = atOnce
  let since = parts.elapsed()
  const drawn = (): boolean => {
    const now = parts.elapsed()
    left = Math.min(atOnce, left + ((now - since) * aSecond) / 1_000)
    since = now
    if (left < 1) return false
    left--
    return true
  }
  return {
    at(reply, record) {
      const { fold } = record
      if (fold?.flight === undefined || !reply.ok || reply.source !== 'runner' || !drawn()) return reply
      const { target } = reply
      const look = createLook(parts, target)
      return reply.observe({
        chunk: look.chunk,
        end({ kind }) {
          const found = kind === 'complete' ? look.found() : undefined
          if (!found) return
          looks.set(record, found)
          parts.seen?.(record, look.chunks)
        },
      })
    },
  }
}

function createLook({ fingerprint, seen }: LookParts, target: Reply['target']) {
  const chunks: Chunk[] = []
  const so = { finish: '', declined: false, chars: 0, named: false }
  const take = ({ delta, text, finish_reason: finish }: ChunkChoice): void => {
    so.chars += (delta?.content ?? text ?? '').length
    if (delta?.['refusal']) so.declined = true
    if (finish) so.finish = finish
  }
  return {
    chunks,
    chunk(chunk: Chunk): void {
      const { system_fingerprint: named } = chunk
      if (!so.named && typeof named === 'string' && named !== '' && target) {
        so.named = true
        fingerprint(target, named)
      }
      const choice = chunk.choices?.find(({ index }) => index === 0)
      if (choice) take(choice)
      if (seen && so.chars <= mostKept) chunks.push(chunk)
    },
    found(): AnswerLook | undefined {
      const { finish, declined, chars } = so
      return finish === '' ? undefined : { finish, declined: declined || finish === 'content_filter', chars }
    },
  }
}
