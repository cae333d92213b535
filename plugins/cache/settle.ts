import type { Call } from '../call.ts'
import type { Completion } from '../chunks.ts'
import type { Again } from '../layer.ts'
import { type Reply, replyFromCompletion } from '../reply.ts'
import { withStatus } from './cache-status.ts'
import { createCapture } from './capture.ts'
import type { Parts } from './parts.ts'
import { giveUp, land, turnLoose, type Visit } from './visit.ts'
import { unworthiness } from './worth.ts'

/** For how long nobody waits for an answer of a kind that was not kept, in milliseconds. */
const avoidMs = 60_000

/** Watches the answer to a call that went further in, and keeps it when it is whole and good enough. */
export function settle(
  parts: Parts,
  call: Call,
  { reply, again }: { readonly reply: Reply; readonly again: Again },
): Reply | Promise<Reply> {
  const visit = parts.visits.get(call.id)
  if (!visit) return reply
  const said = reply.with({ headers: withStatus(reply.headers['cache-status'], visit.status) })
  if (!visit.place) return said
  if (!reply.ok) {
    // What a caller did wrong is wrong for everybody who asks the same; anything else may go better for the next.
    if (reply.status >= 400 && reply.status < 500) turnLoose(visit, parts.flights, 0)
    else giveUp(visit, parts.flights)
    return said
  }
  const turn = { call, visit, said, again }
  return parts.score && parts.config.output_validation?.quality_score?.retryLargest
    ? buffered(parts, turn)
    : watched(parts, turn)
}

interface Turn {
  readonly call: Call
  readonly visit: Visit
  readonly said: Reply
  readonly again: Again
}

function watched(parts: Parts, { call, visit, said }: Turn): Reply {
  const capture = createCapture(parts.config.maxEntryBytes)
  return said.observe({
    chunk(chunk) {
      capture.add(chunk)
      if (capture.overflowed && !visit.concluded) turnLoose(visit, parts.flights, parts.host.clock.now() + avoidMs)
    },
    end(ending) {
      if (ending.kind !== 'complete') giveUp(visit, parts.flights)
      else void judge(parts, { call, visit, said }, capture.completion())
    },
  })
}

type Judging = Pick<Turn, 'call' | 'visit' | 'said'>

/** Keeps a whole answer or lets it go. Never throws: the caller has the answer already. */
async function judge(parts: Parts, turn: Judging, completion: Completion | undefined): Promise<void> {
  const { visit, call } = turn
  visit.judging = true
  try {
    if (!completion || !isWorthy(parts, call, completion)) return letGo(parts, visit)
    if (parts.score && !passes(parts, await parts.score(call.request, completion))) return letGo(parts, visit)
    keep(parts, turn, completion)
  } catch (reason) {
    parts.host.log.error(
      { reason: reason instanceof Error ? reason.message : 'unknown' },
      'an answer could not be judged',
    )
    letGo(parts, visit)
  }
}

function isWorthy({ standard }: Parts, { request }: Call, completion: Completion): boolean {
  return unworthiness(completion, request.n ?? 1, standard) === undefined
}

function passes({ config }: Parts, score: number | undefined): boolean {
  return score !== undefined && score >= (config.output_validation?.quality_score?.min ?? 0)
}

function letGo(parts: Parts, visit: Visit): void {
  parts.host.count('cache.not-stored')
  turnLoose(visit, parts.flights, parts.host.clock.now() + avoidMs)
}

function keep(parts: Parts, { call, visit, said }: Judging, completion: Completion): void {
  const json = Buffer.from(JSON.stringify(completion))
  if (!visit.place || json.length > parts.config.maxEntryBytes) {
    letGo(parts, visit)
    return
  }
  const made = { madeAt: parts.host.clock.now(), askedAt: call.now, ttlMs: parts.config.ttl_seconds * 1000 }
  const kept = parts.storage.keep(visit.place, said.target ? { ...made, target: said.target } : made, json)
  parts.host.count('cache.stored')
  land(visit, parts.flights, kept)
}

/** The answer is held back until it is scored: one that is too poor is asked for once more, and the better of the two is given. */
async function buffered(parts: Parts, turn: Turn): Promise<Reply> {
  const { call, visit, said } = turn
  const first = await attempt(parts, call, said)
  if (first.score === undefined || passes(parts, first.score)) return given(parts, turn, first)
  visit.judging = true
  const second = await turn
    .again(call.with({ largest: true }))
    .then(
      (reply) => (reply.ok ? attempt(parts, call, reply) : undefined),
      () => undefined,
    )
    .catch(() => undefined)
  return given(parts, turn, second && (second.score ?? -1) > first.score ? second : first)
}

interface Attempt {
  readonly completion: Completion
  /** Undefined when it was not worth scoring, or could not be scored. */
  readonly score: number | undefined
  readonly reply: Reply
}

async function attempt(parts: Parts, call: Call, reply: Reply): Promise<Attempt> {
  const { completion } = await reply.collect()
  const score = isWorthy(parts, call, completion) ? await parts.score?.(call.request, completion) : undefined
  return { completion, score, reply }
}

function given(parts: Parts, { call, visit, said }: Turn, best: Attempt): Reply {
  const { completion, score, reply } = best
  if (passes(parts, score)) keep(parts, { call, visit, said: reply }, completion)
  else letGo(parts, visit)
  const { streamed, includeUsage, headers } = said
  const target = reply.target ? { target: reply.target } : {}
  return replyFromCompletion(
    { status: reply.status, headers, streamed, includeUsage, source: reply.source, ...target },
    completion,
  )
}
