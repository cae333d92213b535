import { verifyAcknowledgement } from '../../../plugins/acknowledgement-verify.ts'
import type { Call } from '../../../plugins/call.ts'
import type { Completion } from '../../../plugins/chunks.ts'
import { gatewayError, gatewayErrorFrom } from '../../../plugins/errors.ts'
import type { ContextModes } from '../../../plugins/execution-context-facts.ts'
import type { Acting, Again } from '../../../plugins/layer.ts'
import { replyFromBytes } from '../../../plugins/reply.ts'
import { type Exchange, send } from '../../exchange.ts'
import { type Line, runnerPaths } from '../../line.ts'
import { bodyForTarget } from '../../outgoing-body.ts'
import type { ContextAsk, SealedSend } from '../context.ts'
import type { FoldedPolicy } from '../policies.ts'
import type { Instance } from '../processes/instance.ts'
import type { CopySpan } from './copy-span.ts'

/** One more answer to a call, that nobody gets. */
export interface CopyAsk {
  readonly call: Call
  /** The layers that act at the runner; none: a plain call. */
  readonly modes: ContextModes
  /** Tells the copies of one call apart. */
  readonly attempt: number
  /** Members that the gateway holds answers to by itself: what the runner refuses for them is asked without. */
  readonly enforces: readonly string[]
  /** Halves here that have their say about the answer, outermost first, with the call as the innermost left it. */
  readonly settles: readonly Acting[]
  readonly inner: Call
  readonly span: CopySpan
}

/** What came of a copy. */
export interface CopyAnswer {
  readonly status: number
  /** Undefined: refused. */
  readonly completion: Completion | undefined
  /** A cache has answered it. */
  readonly cacheHit: boolean
}

/** What copies are asked with. */
export interface CopyParts {
  readonly contexts: (ask: ContextAsk) => SealedSend
  readonly instance: Instance
  readonly policy: FoldedPolicy
  readonly signal: AbortSignal
}

/**
 * Asks the runner for one more answer: marked as a copy, so that nothing is billed, stored or done outside. Throws `runner_*`, and
 * `runner_protocol` where it is not acknowledged.
 */
export async function askCopy(ask: CopyAsk, parts: CopyParts): Promise<CopyAnswer> {
  const { call, enforces } = ask
  const answer = await askedOnce(ask, parts, [])
  const given = enforces.filter((member) => call.body.includes(`"${member}"`))
  const asksAgain = (answer.status === 400 || answer.status === 422) && given.length > 0
  return asksAgain ? askedOnce({ ...ask, attempt: ask.attempt + 2 }, parts, given) : answer
}

/** One request, from its head to the end of its answer: what its span is about. */
async function askedOnce(ask: CopyAsk, parts: CopyParts, without: readonly string[]): Promise<CopyAnswer> {
  const span = ask.span(parts.instance.line)
  try {
    const answer = await answered(ask, await sendCopy(ask, parts, { without, trace: span.headers.flat() }))
    span.end({ status: answer.status })
    return answer
  } catch (reason) {
    span.end({ error: gatewayErrorFrom(reason, 'runner_error').code })
    throw reason
  }
}

async function answered(ask: CopyAsk, { exchange, cacheHit }: Sent): Promise<CopyAnswer> {
  const { status, headers } = exchange
  if (status >= 300) {
    exchange.drop()
    if (status >= 500) throw gatewayError('runner_error', `a copy was answered ${status}`)
    return { status, completion: undefined, cacheHit }
  }
  const kind = /event-stream/i.test(headers['content-type'] ?? '') ? 'events' : 'json'
  return { ...(await settled(ask, exchange, kind)), cacheHit }
}

interface Sent {
  readonly exchange: Exchange
  readonly cacheHit: boolean
}

interface Sending {
  readonly without: readonly string[]
  /** Trace headers, names and values in turn. */
  readonly trace: readonly string[]
}

async function sendCopy(ask: CopyAsk, parts: CopyParts, { without, trace }: Sending): Promise<Sent> {
  const { call, modes, attempt } = ask
  const { instance, policy, contexts, signal } = parts
  const { capabilities, ackKey, line } = instance
  const body = bodyForTarget(call, { model: call.facts.target?.[0]?.model || undefined, usage: 'as-asked', without })
  const path = line.base + runnerPaths[call.route]
  const post = (headers: readonly string[]): Promise<Exchange> =>
    send(line.pool, {
      method: 'POST',
      path,
      headers: [...headers, ...trace, 'content-type', 'application/json'],
      body,
      signal,
      patience: patienceOf(line),
    })
  if (Object.keys(modes).length === 0) return { exchange: await post(line.headers), cacheHit: false }
  if (!capabilities || !ackKey) throw gatewayError('runner_protocol', 'the runner executes no layers')
  const { boot: aud, maxContextBytes: maxBytes } = capabilities
  const sealed = contexts({ call, body, modes, attempt, shadow: true, aud, maxBytes, policy })
  const exchange = await post([...line.contextHeaders, ...sealed.headers])
  const asked = { context: sealed.context, key: ackKey, versions: policy.versions }
  const said = verifyAcknowledgement(textOf(exchange.headers['x-layer-ack']), asked)
  if (said.ok) return { exchange, cacheHit: said.acknowledgement.layers['cache']?.o === 'answer' }
  exchange.drop()
  throw gatewayError('runner_protocol', `a copy was not acknowledged: ${said.mismatch}`)
}

function textOf(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined
}

function patienceOf({ settings }: Line) {
  return { firstByteMs: settings.firstByteTimeoutMs, idleMs: settings.idleTimeoutMs }
}

const never: Again = async () => {
  throw gatewayError('internal', 'nothing is asked again for a copy')
}

/** As the halves here would have let it go; what they refuse is refused. */
async function settled(
  { settles, inner }: CopyAsk,
  { status, body }: Exchange,
  kind: 'events' | 'json',
): Promise<Omit<CopyAnswer, 'cacheHit'>> {
  let reply = replyFromBytes({ status, streamed: false, includeUsage: true, source: 'runner' }, kind, body)
  try {
    for (const acting of settles.toReversed())
      reply = (await acting.settle?.(inner, reply, { mode: 'observe', again: never })) ?? reply
    return { status: reply.status, completion: (await reply.collect()).completion }
  } catch (reason) {
    const error = gatewayErrorFrom(reason)
    if (error.status >= 500) throw error
    return { status: error.status, completion: undefined }
  }
}
