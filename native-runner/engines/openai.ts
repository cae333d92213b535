import { Agent, type Dispatcher, request } from 'undici'
import type { Body, Embedded, Engine, Job, ModelCard, Piece, Tokenized, TraceHeaders } from '../engine.ts'
import { isObject } from '../fields.ts'
import { isRefusal, type Refusal, refusal } from '../refusal.ts'
import { dataFromBody, decodedBody, textFromBody } from './openai-events.ts'
import { piecesFromBody, piecesFromEvents, refusalFromStatus } from './openai-pieces.ts'
import { createSlots } from './slots.ts'

/** Where an OpenAI-compatible server is, and how long to wait for it. */
export interface OpenAiOptions {
  /** Its address, with or without `/v1`. */
  readonly upstream: string
  /** Sent as `Authorization: Bearer`; absent: nothing is sent. */
  readonly apiKey?: string
  /** Serve this model only; absent: every model it lists. */
  readonly model?: string
  /** Default 5000. */
  readonly connectTimeoutMs?: number
  /** Until the first byte; default 600000. */
  readonly firstByteTimeoutMs?: number
  /** Between two bytes; default 120000. */
  readonly idleTimeoutMs?: number
}

interface Sent {
  readonly body: Body | undefined
  readonly signal: AbortSignal
  readonly trace?: TraceHeaders | undefined
}

interface Upstream {
  send(path: string, sent: Sent): Promise<Dispatcher.ResponseData>
  json(path: string, body: Body | undefined, signal: AbortSignal): Promise<Body>
  close(): Promise<void>
}

const wholeLimitBytes = 67_108_864
const errorLimitBytes = 65_536

function refusalFromFailure(error: unknown, signal: AbortSignal): Refusal {
  if (isRefusal(error)) return error
  if (signal.aborted && isRefusal(signal.reason)) return signal.reason
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (/TIMEOUT/.test(code)) return refusal('upstream_timeout', 'the upstream took too long', { cause: error })
  const why = code ? ` (${code})` : ''
  return refusal('upstream_failed', `the upstream cannot be reached or broke off${why}`, { cause: error })
}

function createUpstream(options: OpenAiOptions): Upstream {
  const base = options.upstream.replace(/\/+$/, '').replace(/\/v1$/, '')
  const dispatcher = new Agent({
    connect: { timeout: options.connectTimeoutMs ?? 5_000 },
    headersTimeout: options.firstByteTimeoutMs ?? 600_000,
    bodyTimeout: options.idleTimeoutMs ?? 120_000,
  })
  const headers = {
    'content-type': 'application/json',
    'accept-encoding': 'identity',
    ...(options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` }),
  }
  const send: Upstream['send'] = async (path, { body, signal, trace }) => {
    try {
      const sent =
        body === undefined ? { method: 'GET' as const } : { method: 'POST' as const, body: JSON.stringify(body) }
      const response = await request(base + path, { ...sent, headers: { ...headers, ...trace }, signal, dispatcher })
      if (response.statusCode === 200) return response
      const retryAfter = response.headers['retry-after']
      const text = await textFromBody(response.body, errorLimitBytes)
      throw refusalFromStatus(response.statusCode, text, typeof retryAfter === 'string' ? retryAfter : undefined)
    } catch (error) {
      throw refusalFromFailure(error, signal)
    }
  }
  return {
    send,
    async json(path, body, signal) {
      const { headers: found, body: bytes } = await send(path, { body, signal })
      try {
        const text = await textFromBody(decodedBody(bytes, encodingFrom(found)), wholeLimitBytes)
        const value: unknown = JSON.parse(text)
        if (isObject(value)) return value
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw refusalFromFailure(error, signal)
      }
      throw refusal('upstream_failed', `the upstream's answer to ${path} is not a JSON object`)
    },
    close: () => dispatcher.destroy(),
  }
}

function encodingFrom(headers: Dispatcher.ResponseData['headers']): string | undefined {
  const value = headers['content-encoding']
  return Array.isArray(value) ? value.join(',') : value
}

async function* generate(upstream: Upstream, path: string, call: Sent): AsyncGenerator<Piece> {
  const { headers, body } = await upstream.send(path, call)
  const bytes = decodedBody(body, encodingFrom(headers))
  try {
    const type = String(headers['content-type'] ?? '').toLowerCase()
    if (!type.includes('json')) return yield* piecesFromEvents(dataFromBody(bytes))
    // Some servers answer a stream request with a whole body.
    const { pieces, usage } = piecesFromBody(JSON.parse(await textFromBody(bytes, wholeLimitBytes)))
    yield* pieces
    if (usage) yield { kind: 'usage', usage }
  } catch (error) {
    throw refusalFromFailure(error, call.signal)
  } finally {
    body.on('error', () => undefined).destroy()
  }
}

function cardFrom(value: Body): ModelCard {
  const { id, created, max_model_len } = value
  const card = { id: String(id), created: typeof created === 'number' ? created : 0 }
  return typeof max_model_len === 'number' ? { ...card, contextTokens: max_model_len } : card
}

/** The models an upstream lists, asked for again after ten seconds. */
function createListing(upstream: Upstream, only: string | undefined): () => Promise<readonly ModelCard[]> {
  let known: { at: number; cards: readonly ModelCard[] } | undefined
  return async () => {
    if (known && performance.now() - known.at < 10_000) return known.cards
    const { data } = await upstream.json('/v1/models', undefined, AbortSignal.timeout(10_000))
    const cards = (Array.isArray(data) ? data.filter(isObject) : []).map(cardFrom)
    known = { at: performance.now(), cards: only === undefined ? cards : cards.filter(({ id }) => id === only) }
    return known.cards
  }
}

async function embed(upstream: Upstream, body: Body, signal: AbortSignal): Promise<Embedded> {
  const { data, usage } = await upstream.json('/v1/embeddings', { ...body, encoding_format: 'float' }, signal)
  const vectors = (Array.isArray(data) ? data.filter(isObject) : []).map(({ embedding }) => embedding as number[])
  return { vectors, promptTokens: isObject(usage) ? Number(usage['prompt_tokens'] ?? 0) : 0 }
}

async function tokenize(upstream: Upstream, body: Body, signal: AbortSignal): Promise<Tokenized> {
  const { tokens, max_model_len } = await upstream.json('/tokenize', body, signal)
  if (!Array.isArray(tokens)) throw refusal('upstream_failed', "the upstream's /tokenize gave no tokens")
  return typeof max_model_len === 'number' ? { tokens, contextTokens: max_model_len } : { tokens }
}

function streamedBody(job: Job, model: string | undefined): Body {
  const options = isObject(job.body['stream_options']) ? job.body['stream_options'] : {}
  const named = job.body['model'] ?? model
  return {
    ...job.body,
    ...(named === undefined ? {} : { model: named }),
    stream: true,
    stream_options: { ...options, include_usage: true },
  }
}

/** An engine that is an OpenAI-compatible server behind us. What it streams comes through as it is; aborts reach it. */
export function createOpenAiEngine(options: OpenAiOptions): Engine {
  const upstream = createUpstream(options)
  const models = createListing(upstream, options.model)
  const slots = createSlots(Number.POSITIVE_INFINITY, 0)
  let state: 'starting' | 'ready' = 'starting'
  let probe: NodeJS.Timeout | undefined
  const start = async (): Promise<void> => {
    try {
      await models()
      state = 'ready'
    } catch {
      // Servers that load large models come up long after us.
      probe = setTimeout(start, 2_000)
    }
  }
  return {
    name: 'openai',
    state: () => state,
    start,
    models,
    async *generate(job, signal) {
      const release = await slots.acquire(signal)
      try {
        const body = streamedBody(job, (await models())[0]?.id)
        const path = job.kind === 'chat' ? '/v1/chat/completions' : '/v1/completions'
        yield* generate(upstream, path, { body, signal, trace: job.trace })
      } finally {
        release()
      }
    },
    tokenize: (body, signal) => tokenize(upstream, body, signal),
    embed: (body, signal) => embed(upstream, body, signal),
    load: () => ({ ...slots.load(), free: 0 }),
    async close() {
      clearTimeout(probe)
      await upstream.close()
    },
  }
}
