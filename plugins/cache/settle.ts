import type { Call } from '../call.ts'
import type { Completion } from '../chunks.ts'
import type { SettleTurn } from '../layer.ts'
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
  { reply, turn }: { readonly reply: Reply; readonly turn: SettleTurn },
): Reply | Promise<Reply> {
  const visit = parts.visits.get(call.id)
  if (!visit) return reply
  if (turn.mode === 'observe') return observed(parts, { ...turn, call, visit, said: reply })
  const said = reply.with({ headers: withStatus(reply.headers['cache-status'], visit.status) })
  if (!visit.place) return said
  if (!reply.ok) {
    // What a caller did wrong is wrong for everybody who asks the same; anything else may go better for the next.
    if (reply.status >= 400 && reply.status < 500) turnLoose(visit, parts.flights, 0)
    else giveUp(visit, parts.flights)
    return said
  }
  const settling = { ...turn, call, visit, said }
  return parts.score && parts.step.output_validation?.quality_score?.retryLargest
    ? buffered(parts, settling)
    : watched(parts, settling)
}

interface Turn extends SettleTurn {
  readonly call: Call
  readonly visit: Visit
  readonly said: Reply
}

/** An observer asks no judge, so it keeps nothing where answers must be scored. */
function observed(parts: Parts, turn: Turn): Reply {
  return turn.visit.place && turn.said.ok && !parts.score ? watched(parts, turn) : turn.said
}

function watched(parts: Parts, turn: Turn): Reply {
  const { visit, said } = turn
  const capture = createCapture(parts.step.maxEntryBytes)
  return said.observe({
    chunk(chunk) {
      capture.add(chunk)
      if (capture.overflowed && !visit.concluded) turnLoose(visit, parts.flights, parts.host.clock.now() + avoidMs)
    },
    end(ending) {
      if (ending.kind !== 'complete') giveUp(visit, parts.flights)
      else void judge(parts, turn, capture.completion())
    },
  })
}

type Judging = Pick<Turn, 'call' | 'visit' | 'said' | 'mode'>

/** Keeps a whole answer or lets it go. Never throws: the caller has the answer already. */
async function judge(parts: Parts, turn: Judging, completion: Completion | undefined): Promise<void> {
  const { visit, call } = turn
  visit.judging = true
  try {
    if (!completion || !isWorthy(parts, call, completion)) return letGo(parts, turn)
    if (parts.score && !passes(parts, await parts.score(call.request, completion))) return letGo(parts, turn)
    keep(parts, turn, completion)
  } catch (reason) {
    parts.host.log.error(
      { reason: reason instanceof Error ? reason.message : 'unknown' },
      'an answer could not be judged',
    )
    letGo(parts, turn)
  }
}

function isWorthy({ standard }: Parts, { request }: Call, completion: Completion): boolean {
  return unworthiness(completion, request.n ?? 1, standard) === undefined
}

function passes({ standard }: Parts, score: number | undefined): boolean {
  return score !== undefined && score >= standard.least
}

function letGo(parts: Parts, { visit, mode }: Judging): void {
  if (mode === 'enforce') parts.host.count('cache.not-stored')
  turnLoose(visit, parts.flights, parts.host.clock.now() + avoidMs)
}

function keep(parts: Parts, turn: Judging, completion: Completion): void {
  const { call, visit, said, mode } = turn
  const { step, storage, host, flights } = parts
  const json = Buffer.from(JSON.stringify(completion))
  const ttlMs = step.ttl_seconds * 1000
  const ageMs = ageFromHeaders(said.headers)
  if (!visit.place || json.length > step.maxEntryBytes || ageMs >= ttlMs) {
    letGo(parts, turn)
    return
  }
  const made = { madeAt: host.clock.now() - ageMs, askedAt: call.now, ttlMs }
  const kept = storage.keep(visit.place, said.target ? { ...made, target: said.target } : made, json)
  if (mode === 'enforce') host.count('cache.stored')
  land(visit, flights, kept)
}

/** How old an answer was when it came, in milliseconds (RFC 9111 §5.1): a cache further in, or the other side's, has kept it that long. */
function ageFromHeaders({ age }: Readonly<Record<string, string>>): number {
  return age !== undefined && /^\d{1,10}$/.test(age) ? Number(age) * 1000 : 0
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

function given(parts: Parts, turn: Turn, best: Attempt): Reply {
  const { completion, score, reply } = best
  if (passes(parts, score)) keep(parts, { ...turn, said: reply }, completion)
  else letGo(parts, turn)
  const { streamed, includeUsage, headers } = turn.said
  const target = reply.target ? { target: reply.target } : {}
  return replyFromCompletion(
    { status: reply.status, headers, streamed, includeUsage, source: reply.source, ...target },
    completion,
  )
}
