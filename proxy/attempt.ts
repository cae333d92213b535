import type { Call } from '../plugins/call.ts'
import { directiveMembers } from '../plugins/directives.ts'
import { type ErrorCode, type GatewayError, gatewayError, gatewayErrorFrom } from '../plugins/errors.ts'
import type { HeaderNames } from '../plugins/headers.ts'
import type { RunnerQuestion } from '../plugins/host.ts'
import { type Reply, replyFromBytes, type Target } from '../plugins/reply.ts'
import { wholeBody } from '../plugins/reply-bytes.ts'
import { type Exchange, type Outgoing, send, sendFresh } from './exchange.ts'
import { replyContextOf } from './folding/folded-reply.ts'
import type { Instance } from './folding/processes/instance.ts'
import type { FoldedExchange } from './folding/send.ts'
import { type Line, runnerPaths } from './line.ts'
import { asksForUsage, type BodyWishes, bodyForTarget } from './outgoing-body.ts'
import type { CallOptions } from './runner-client.ts'
import { replyFromExchange } from './runner-reply.ts'

/** One try at one runner, watched. */
export interface AttemptWatch {
  /** Trace headers that go with the request that is to be sent now. */
  readonly headers: readonly (readonly [string, string])[]
  /** The same is asked once more, after this came of it: a span of its own, and `headers` are new. */
  again(came: { readonly status?: number; readonly error?: ErrorCode }): void
  /** Called once, when its answer has ended. */
  end(result: { readonly status?: number; readonly error?: GatewayError }): void
}

/** Where one try goes, for those who watch. */
export interface AttemptPlace {
  readonly target: Target
  /** Host name and port of the runner. */
  readonly address: string
  readonly port: number
  readonly streamed: boolean
}

/** The call that is tried, and what it brings along. */
export interface Attempt {
  readonly call: Call
  readonly options: CallOptions
  readonly names: HeaderNames
  /** The runner process that the line leads to, where it is one that executes layers. */
  readonly instance: Instance | undefined
}

// How long a preamble without content may be held back, so that another runner could still take over.
const holdMs = 1000

/** Sends the call to one target. Nothing has gone out to the caller when it throws. */
export async function attemptOnce(line: Line, target: Target, attempt: Attempt): Promise<Reply> {
  const { call, names, options } = attempt
  const blind = isFolded(options) && !call.parsed
  const streamed = call.route !== 'embeddings' && (blind ? seemsStreamed(call.body) : wantsStream(call))
  const watch = options.watch({ target, address: line.address, port: line.port, streamed })
  let status: number | undefined
  try {
    const asked = await exchangeWithRunner(line, target, { attempt, watch })
    const { exchange, folded } = asked
    status = exchange.status
    const { maxEventBytes, maxBodyBytes } = line.settings
    // What nobody here has read, the runner has answered as it was asked.
    const includeUsage = blind || (streamed && asksForUsage(call.request))
    const context = { target, streamed, includeUsage, names, maxEventBytes, maxBodyBytes, holdMs }
    const reply = await replyFromExchange(exchange, folded ? replyContextOf(context, folded, blind) : context)
    return reply.observe({
      end(ending) {
        if (folded) options.folding?.ended(folded, ending, call)
        watch.end({ status: exchange.status, ...(ending.kind === 'complete' ? {} : { error: errorOf(ending) }) })
      },
    })
  } catch (reason) {
    const error = gatewayErrorFrom(reason, 'runner_error')
    watch.end({ error, ...(status === undefined ? {} : { status }) })
    throw error
  }
}

function errorOf(ending: { kind: 'failed'; error: unknown } | { kind: 'aborted' }): GatewayError {
  return ending.kind === 'failed'
    ? gatewayErrorFrom(ending.error, 'runner_error')
    : gatewayError('client_closed', 'the caller went away')
}

/**
 * Whether the caller wants a stream, without parsing the body for it: the member's name must stand in the bytes, and only then is
 * the body read.
 */
function wantsStream(call: Call): boolean {
  // Up to seven bytes Node looks for at memory speed; the eighth would cost ten times as much.
  return call.body.includes('"strea') && call.request.stream === true
}

/** Some layer acts at the runner: the call goes with a context. */
function isFolded({ folding }: CallOptions): boolean {
  return folding !== undefined && folding.fold.modes.size > 0
}

const streamMember = Buffer.from('"stream"')

/** Whether a body that nobody has read looks like asking for a stream. Only for those who watch: the answer itself says what it is. */
function seemsStreamed(body: Buffer): boolean {
  const at = body.indexOf(streamMember)
  return at >= 0 && /^\s*:\s*true/.test(body.toString('latin1', at + 8, at + 24))
}

/** What a runner answered, and what it acknowledged where the call came with a context. */
interface Asked {
  readonly exchange: Exchange
  readonly folded?: FoldedExchange
}

interface Watched {
  readonly attempt: Attempt
  readonly watch: AttemptWatch
}

/**
 * Asks for usage where a layer, or the translation of a message stream, reads it. A server that refuses what it was asked beyond the
 * caller's own words, or what is enforced here anyway, is asked once more without it.
 */
async function exchangeWithRunner(line: Line, target: Target, { attempt, watch }: Watched): Promise<Asked> {
  const { call, options } = attempt
  const ask = (wishes: BodyWishes): Promise<Asked> => askWith(line, bodyForTarget(call, wishes), { attempt, watch })
  const without = options.directed && !isFolded(options) ? directiveMembers : nothing
  const wishes = { model: target.model || undefined, usage: usageWish(line, call, options.meter), without }
  const asked = await ask(wishes)
  const { status, body } = asked.exchange
  if (status !== 400 && status !== 422) return asked
  const givable = options.enforces.filter((member) => call.body.includes(`"${member}"`))
  if (wishes.usage === 'as-asked' && givable.length === 0) return asked
  const said = await wholeBody(body)
  const milder = milderWishes(said.toString('latin1'), { wishes, line, call, givable })
  if (milder) watch.again({ status })
  return milder ? ask(milder) : { ...asked, exchange: { ...asked.exchange, ...readAlready(said) } }
}

/** Sends the bytes: with a context where the runner is to act, and otherwise with the gateway's own key. */
async function askWith(line: Line, body: Buffer, { attempt, watch }: Watched): Promise<Asked> {
  const { call, options, instance } = attempt
  const { firstByteTimeoutMs: firstByteMs, idleTimeoutMs: idleMs } = line.settings
  const outgoing = (headers: string[]): Outgoing => ({
    method: 'POST',
    path: line.base + runnerPaths[call.route],
    headers,
    body,
    signal: call.signal,
    patience: { firstByteMs, idleMs },
  })
  const send = (make: () => Outgoing): Promise<Exchange> =>
    sendFresh(line.pool, make(), () => {
      watch.again({ error: 'runner_error' })
      return make()
    })
  const { folding } = options
  if (!folding || folding.fold.modes.size === 0)
    return { exchange: await send(() => outgoing(headersOf(line.headers, call, watch))) }
  let refused: Exchange | undefined
  const sendSealed = async (seal: () => readonly string[]): Promise<Exchange> => {
    if (refused) watch.again({ status: refused.status })
    refused = await send(() => outgoing([...headersOf(line.contextHeaders, call, watch), ...seal()]))
    return refused
  }
  const folded = await folding.send({ call, fold: folding.fold, instance }, { body, send: sendSealed })
  folding.fold.said = folded.said
  return { exchange: folding.tapped(folded, { body, idleMs }), folded }
}

const nothing: readonly string[] = []

interface Refused {
  readonly wishes: BodyWishes
  readonly line: Line
  readonly call: Call
  readonly givable: readonly string[]
}

/** What to ask instead, when the refusal names something that can be given up; a server without `stream_options` is remembered. */
function milderWishes(refusal: string, { wishes, line, call, givable }: Refused): BodyWishes | undefined {
  const without = [...wishes.without, ...givable.filter((member) => refusal.includes(member))]
  const usage = withoutUsage(call)
  const ours = call.route === 'messages' || !asksForUsage(call.request)
  const dropsUsage = ours && wishes.usage !== usage && /stream_options|include_usage/.test(refusal)
  if (dropsUsage) line.refusesUsage = true
  if (!dropsUsage && without.length === wishes.without.length) return undefined
  return { ...wishes, without, ...(dropsUsage ? { usage } : {}) }
}

function usageWish({ refusesUsage }: Line, call: Call, meter: boolean): BodyWishes['usage'] {
  const wants = call.route === 'messages' || (meter && call.route !== 'embeddings')
  return wants && !refusesUsage ? 'always' : withoutUsage(call)
}

/** What a caller asked for by itself stays; in a message stream the translation did. */
function withoutUsage({ route }: Call): BodyWishes['usage'] {
  return route === 'messages' ? 'never' : 'as-asked'
}

function readAlready(body: Buffer): Pick<Exchange, 'body' | 'whole' | 'firstByte' | 'drop'> {
  const parts = async function* () {
    yield body
  }
  return { body: parts(), whole: async () => body, firstByte: async () => body[0] ?? -1, drop: () => undefined }
}

function headersOf(own: readonly string[], call: Call, watch: AttemptWatch): string[] {
  const headers = [...own, 'content-type', 'application/json', 'accept', 'application/json, text/event-stream']
  const requestId = call.headers['x-request-id']
  if (requestId) headers.push('x-request-id', requestId)
  for (const [name, value] of watch.headers) headers.push(name, value)
  return headers
}

/** Asks one question on a layer's own account and gives back the answer's text. */
export async function askOnce(line: Line, question: RunnerQuestion): Promise<string> {
  const timeout = AbortSignal.timeout(question.timeoutMs)
  const signal = question.signal ? AbortSignal.any([question.signal, timeout]) : timeout
  const exchange = await send(line.pool, {
    method: 'POST',
    path: line.base + runnerPaths.chat,
    headers: [...line.headers, 'content-type', 'application/json'],
    body: Buffer.from(JSON.stringify({ ...question.body, stream: false })),
    signal,
  })
  const reply = replyFromBytes({ status: exchange.status, streamed: false, source: 'runner' }, 'json', exchange.body)
  const { completion } = await reply.collect()
  const content = completion.choices?.[0]?.message?.content
  if (exchange.status !== 200 || typeof content !== 'string') {
    throw gatewayError('runner_error', `the runner answered ${exchange.status} to a layer's question`)
  }
  return content
}
