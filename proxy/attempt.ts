import { Client, type Dispatcher, Pool } from 'undici'
import type { Call } from '../plugins/call.ts'
import type { Route } from '../plugins/chat.ts'
import { type GatewayError, gatewayError, gatewayErrorFrom } from '../plugins/errors.ts'
import type { HeaderNames } from '../plugins/headers.ts'
import type { RunnerQuestion } from '../plugins/host.ts'
import { type Reply, replyFromBytes, type Target } from '../plugins/reply.ts'
import { wholeBody } from '../plugins/reply-bytes.ts'
import { type Exchange, type Outgoing, type ReuseWatch, send, sendFresh } from './exchange.ts'
import { asksForUsage, type BodyWishes, bodyForTarget } from './outgoing-body.ts'
import { replyFromExchange } from './runner-reply.ts'
import { basePath, type RunnerSettings } from './runner-settings.ts'

/** One try at one runner, watched. */
export interface AttemptWatch {
  /** Trace headers that go with it. */
  readonly headers: readonly (readonly [string, string])[]
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

/** The line to one runner: its connections, and what was learned about it. */
export interface Line {
  readonly settings: RunnerSettings
  readonly pool: Dispatcher & { destroy(): Promise<void> }
  readonly base: string
  readonly address: string
  readonly port: number
  readonly headers: readonly string[]
  /** Learned: this server refuses `stream_options`. */
  refusesUsage: boolean
}

/** Opens the line; no connection is made before the first call. Time-outs are set here and hold for every request on it. */
export function openLine(settings: RunnerSettings): Line {
  const { hostname, port, protocol } = new URL(settings.url)
  const place = { address: hostname, port: Number(port) || (protocol === 'https:' ? 443 : 80) }
  const pool = new Pool(new URL(settings.url).origin, {
    connections: settings.maxConnections || null,
    pipelining: 1,
    factory: (origin, options) => new Connection(origin, options as Client.Options),
    keepAliveTimeout: settings.keepAliveMs,
    keepAliveMaxTimeout: settings.keepAliveMs,
    headersTimeout: settings.firstByteTimeoutMs,
    bodyTimeout: settings.idleTimeoutMs,
    connect: { timeout: settings.connectTimeoutMs, ...settings.tls },
  })
  const headers = ['accept-encoding', 'identity', 'user-agent', 'foldgate']
  if (settings.apiKey) headers.push('authorization', `Bearer ${settings.apiKey}`)
  for (const [name, value] of Object.entries(settings.headers ?? {})) headers.push(name, value)
  return {
    settings,
    pool,
    base: basePath(settings.url),
    ...place,
    headers,
    refusesUsage: settings.includeUsage === 'never',
  }
}

// A class because it is one of undici's: a connection that says, before a request goes out on it, whether it has served others.
class Connection extends Client {
  override dispatch(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler & Partial<ReuseWatch>,
  ): boolean {
    if (handler.reused !== undefined) handler.reused = this.stats.connected
    return super.dispatch(options, handler)
  }
}

const paths: Readonly<Record<Route, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/chat/completions',
  completions: '/v1/completions',
  embeddings: '/v1/embeddings',
  models: '/v1/models',
  passthrough: '/',
}

/** The call that is tried, and what it brings along. */
export interface Attempt {
  readonly call: Call
  readonly options: { readonly meter: boolean; watch(place: AttemptPlace): AttemptWatch }
  readonly names: HeaderNames
}

// How long a preamble without content may be held back, so that another runner could still take over.
const holdMs = 1000

/** Sends the call to one target. Nothing has gone out to the caller when it throws. */
export async function attemptOnce(line: Line, target: Target, attempt: Attempt): Promise<Reply> {
  const { call, names } = attempt
  const streamed = call.route !== 'embeddings' && wantsStream(call)
  const watch = attempt.options.watch({ target, address: line.address, port: line.port, streamed })
  let status: number | undefined
  try {
    const exchange = await exchangeWithUsage(line, target, { attempt, watch })
    status = exchange.status
    const { maxEventBytes, maxBodyBytes } = line.settings
    const includeUsage = streamed && asksForUsage(call.request)
    const reply = await replyFromExchange(exchange, {
      target,
      streamed,
      includeUsage,
      names,
      maxEventBytes,
      maxBodyBytes,
      holdMs,
    })
    return reply.observe({
      end: (ending) =>
        watch.end({ status: exchange.status, ...(ending.kind === 'complete' ? {} : { error: errorOf(ending) }) }),
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
  return call.body.includes('"stream"') && call.request.stream === true
}

interface Watched {
  readonly attempt: Attempt
  readonly watch: AttemptWatch
}

/**
 * Asks for usage where a layer, or the translation of a message stream, reads it; a server that refuses the option is asked again
 * without, and remembered.
 */
async function exchangeWithUsage(line: Line, target: Target, { attempt, watch }: Watched): Promise<Exchange> {
  const { call, options } = attempt
  const { firstByteTimeoutMs: firstByteMs, idleTimeoutMs: idleMs } = line.settings
  const outgoing = (body: Buffer): Outgoing => ({
    method: 'POST',
    path: line.base + paths[call.route],
    headers: headersOf(line, call, watch),
    body,
    signal: call.signal,
    patience: { firstByteMs, idleMs },
  })
  const model = target.model || undefined
  const usage = usageWish(line, call, options.meter)
  const body = bodyForTarget(call, { model, usage })
  const exchange = await sendFresh(line.pool, outgoing(body))
  if ((exchange.status !== 400 && exchange.status !== 422) || usage === 'as-asked') return exchange
  const plain = bodyForTarget(call, { model, usage: withoutUsage(call) })
  if (body.equals(plain)) return exchange
  const said = await wholeBody(exchange.body)
  if (!/stream_options|include_usage/.test(said.toString('latin1'))) return { ...exchange, ...readAlready(said) }
  line.refusesUsage = true
  return sendFresh(line.pool, outgoing(plain))
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

function headersOf(line: Line, call: Call, watch: AttemptWatch): string[] {
  const headers = [...line.headers, 'content-type', 'application/json', 'accept', 'application/json, text/event-stream']
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
    path: line.base + paths.chat,
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
