import type { IncomingHttpHeaders } from 'node:http'
import type { Chunk } from '../plugins/chat.ts'
import { gatewayError } from '../plugins/errors.ts'
import { type HeaderNames, hopHeaders, internalHeaders, nominatedHeaders } from '../plugins/headers.ts'
import { type BodyKind, type Reply, replyFromBytes, type Target } from '../plugins/reply.ts'
import { wholeBody } from '../plugins/reply-bytes.ts'
import { errorInChunk } from '../plugins/reported-error.ts'
import { decoded } from './decode.ts'
import type { Exchange } from './exchange.ts'
import { peekEvents } from './peek.ts'

/** What is known of the call when its answer arrives. */
export interface ReplyContext {
  readonly target: Target
  readonly streamed: boolean
  readonly includeUsage: boolean
  readonly names: HeaderNames
  readonly maxEventBytes: number
  readonly maxBodyBytes: number
  /** Milliseconds that a preamble without content may be held back while another runner could still take over. */
  readonly holdMs: number
  /** The runner is known to be one of ours and to have acted: its refusals are the layers' and go on as they came, its streams too. */
  readonly acknowledged?: boolean
}

/**
 * A runner's answer as a reply, in whatever shape it came: the body says what it is, not its content type. Throws a retryable
 * `runner_*` for what another runner might do better.
 */
export async function replyFromExchange(exchange: Exchange, context: ReplyContext): Promise<Reply> {
  if (exchange.status >= 300)
    return context.acknowledged ? wordForWord(exchange, context) : await refusedReply(exchange, context)
  const coding = exchange.headers['content-encoding']
  if (!context.streamed && isPlain(coding))
    return wholeReply(exchange, context, await exchange.whole(context.maxBodyBytes))
  const body = decoded(exchange.body, coding)
  if ((await kindOfBody(exchange)) === 'events') return eventsReply(exchange, context, body)
  return wholeReply(exchange, context, await wholeBody(body, context.maxBodyBytes))
}

/** An answer read whole before its head goes out, so that a torn one can still be said with its true status. */
function wholeReply(exchange: Exchange, context: ReplyContext, body: Buffer): Reply | Promise<Reply> {
  if (isPlain(exchange.headers['content-encoding']) && kindOfBytes(body, exchange.headers) === 'events') {
    return eventsReply(exchange, context, once(body))
  }
  const whole = withoutEndMark(body)
  throwReported(whole)
  return replyFromBytes(initOf(exchange, context), 'json', [whole])
}

async function eventsReply(exchange: Exchange, context: ReplyContext, body: AsyncIterable<Buffer>): Promise<Reply> {
  const { maxEventBytes, holdMs, acknowledged } = context
  const events = acknowledged ? body : await peekEvents(body, { maxEventBytes, holdMs })
  return replyFromBytes(initOf(exchange, context), 'events', events)
}

async function* once(body: Buffer): AsyncGenerator<Buffer> {
  yield body
}

function isPlain(coding: string | undefined): boolean {
  return coding === undefined || coding === 'identity'
}

function initOf({ status, headers }: Exchange, context: ReplyContext) {
  const { streamed, includeUsage, target, maxEventBytes } = context
  const outward = outwardHeaders(headers, context.names)
  return {
    status,
    headers: outward,
    streamed,
    includeUsage,
    target,
    source: 'runner',
    maxBytes: maxEventBytes,
  } as const
}

// Inside a string its quotes would be escaped, so this is always a member or a value of its own.
const errorWord = Buffer.from('"error"')

/** Some servers say 200 and then, in place of an answer, what went wrong. */
function throwReported(whole: Buffer): void {
  if (!whole.includes(errorWord)) return
  let said: Chunk
  try {
    said = JSON.parse(whole.toString('utf8')) as Chunk
  } catch {
    return
  }
  const error = said && !said.choices?.length ? errorInChunk(said) : undefined
  if (error) throw error
}

const openers = new Set([0x7b, 0x5b])
const fieldStarts = new Set([...'deir:'].map((char) => char.charCodeAt(0)))

async function kindOfBody(exchange: Exchange): Promise<BodyKind> {
  const { headers } = exchange
  if (!isPlain(headers['content-encoding'])) return kindOfType(headers['content-type'])
  return kindFromByte(await exchange.firstByte(), headers)
}

function kindOfBytes(body: Buffer, headers: IncomingHttpHeaders): BodyKind {
  return kindFromByte(body.find((byte) => byte > 0x20) ?? -1, headers)
}

function kindFromByte(first: number, headers: IncomingHttpHeaders): BodyKind {
  // A byte order mark says nothing.
  if (first === 0xef) return kindOfType(headers['content-type'])
  if (openers.has(first)) return 'json'
  if (fieldStarts.has(first) || (first === -1 && kindOfType(headers['content-type']) === 'events')) return 'events'
  throw notJson()
}

function kindOfType(type: string | undefined): BodyKind {
  return /event-stream/i.test(type ?? '') ? 'events' : 'json'
}

function notJson() {
  return gatewayError('runner_protocol', 'the runner answered with neither JSON nor an event stream')
}

const endMark = /\s*data:\s*\[DONE\]\s*$/

/** Some servers glue the end mark of a stream to a JSON document. */
function withoutEndMark(body: Buffer): Buffer {
  if (body.length < 12 || !body.subarray(-32).includes('[DONE]')) return body
  const tail = body.subarray(-32).toString('latin1')
  return endMark.test(tail) ? body.subarray(0, body.length - (tail.length - tail.replace(endMark, '').length)) : body
}

/** What is not a 2xx: retryable ones throw, the caller's own faults pass through as they came. */
async function refusedReply(exchange: Exchange, context: ReplyContext): Promise<Reply> {
  const { status, headers } = exchange
  if (status === 401 || status === 403) {
    exchange.drop()
    throw gatewayError('runner_credential', "the runner refused the gateway's own credential")
  }
  if (status === 429 || status === 503) {
    exchange.drop()
    const code = status === 429 ? 'rate_limited' : 'no_capacity'
    throw gatewayError(code, `the runner is out of capacity (${status})`, { retryAfterMs: retryAfterMs(headers) })
  }
  if (status >= 500 || status === 408 || status < 400) {
    exchange.drop()
    throw gatewayError(status === 504 ? 'runner_timeout' : 'runner_error', `the runner answered ${status}`)
  }
  return wordForWord(exchange, context)
}

/** What is not looked into: status, headers and bytes as they came. */
async function wordForWord(exchange: Exchange, context: ReplyContext): Promise<Reply> {
  const { headers } = exchange
  const body = await wholeBody(decoded(exchange.body, headers['content-encoding']), context.maxBodyBytes)
  const init = initOf(exchange, context)
  const type = headers['content-type'] ?? 'application/json'
  return replyFromBytes({ ...init, headers: { ...init.headers, 'content-type': type } }, 'opaque', [body])
}

/** Milliseconds of a `Retry-After` (seconds or date, RFC 9110 §10.2.3); 1,000 when there is none or it makes no sense. */
export function retryAfterMs(headers: IncomingHttpHeaders): number {
  const text = headers['retry-after']
  if (!text) return 1000
  const seconds = Number(text)
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(text) - Date.now()
  return ms > 0 && ms < 86_400_000 ? ms : 1000
}

// Framing is the route's business, and what a runner says about itself or about cookies is nobody's.
const kept = new Set([
  'content-length',
  'content-type',
  'content-encoding',
  'date',
  'server',
  'set-cookie',
  'cache-control',
  'x-accel-buffering',
  'x-request-id',
])

/** The runner's headers that go on to the caller: no hop-by-hop ones, none that `Connection` nominates, none of our own names. */
export function outwardHeaders(headers: IncomingHttpHeaders, names: HeaderNames): Record<string, string> {
  const nominated = nominatedHeaders(headers.connection)
  const own = ownHeaders(names)
  const out: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined || kept.has(name) || hopHeaders.has(name) || nominated.has(name) || own.has(name)) continue
    out[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return out
}

const ownByPrefix = new Map<string, ReadonlySet<string>>()

function ownHeaders(names: HeaderNames): ReadonlySet<string> {
  let own = ownByPrefix.get(names.prefix)
  if (!own) {
    own = new Set([...Object.values(names), ...internalHeaders])
    ownByPrefix.set(names.prefix, own)
  }
  return own
}
