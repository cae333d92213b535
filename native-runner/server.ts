import { randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import type { Engine } from './engine.ts'
import { createKeyCheck } from './key.ts'
import { createMeter } from './meter.ts'
import { bodyFromRefusal, type Refusal, refusal, refusalFrom } from './refusal.ts'
import { embeddings } from './routes/embeddings.ts'
import { chat, completions } from './routes/generation.ts'
import { model, models } from './routes/models.ts'
import { live, metrics, ready, startup } from './routes/operations.ts'
import type { Answer, Room, Route } from './routes/route.ts'
import { tokenize } from './routes/tokenize.ts'

const routes: readonly Route[] = [chat, completions, embeddings, models, model, tokenize, live, ready, startup, metrics]

/** How a runner listens. */
export interface ServerOptions {
  /** Default 127.0.0.1. */
  readonly host?: string
  /** Default 0, whichever is free. */
  readonly port?: number
  /** Required as `Authorization: Bearer` on everything but `/healthz/*`; absent: nobody is asked. */
  readonly apiKey?: string
  /** Largest request body; default 33554432 (32 MiB). */
  readonly bodyLimitBytes?: number
  /** How long a client may leave a stream unread before it is cut; default 120000. */
  readonly writeStallTimeoutMs?: number
}

/** A listening runner. */
export interface RunningServer {
  readonly url: string
  /** Stops taking calls, lets those in flight end for at most `graceMs`, then cuts them off. */
  close(graceMs?: number): Promise<void>
}

interface Calls {
  /** A signal that aborts when this call's connection goes, or the runner gives up on it. */
  open(reply: FastifyReply): AbortController
  cutAll(): void
}

function createCalls(): Calls {
  const open = new Set<AbortController>()
  return {
    open(reply) {
      const controller = new AbortController()
      open.add(controller)
      reply.raw.once('close', () => {
        open.delete(controller)
        controller.abort(refusal('client_closed', 'the client closed the connection'))
      })
      return controller
    },
    cutAll: () => {
      for (const controller of open) controller.abort(refusal('shutting_down', 'the runner is shutting down'))
    },
  }
}

function refusalFromFastify(error: unknown): Refusal {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return refusal('request_too_large', 'the body is larger than this runner takes')
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return refusal('unsupported_media_type', 'the content type must be application/json')
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : 500
  if (status === 400) return refusal('invalid_value', 'the request cannot be read')
  return refusalFrom(error)
}

function sendRefusal(reply: FastifyReply, error: Refusal): FastifyReply {
  const { retryAfterSeconds } = error.detail
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds))
  if (error.status === 401) reply.header('www-authenticate', 'Bearer')
  return reply.code(error.status).send(bodyFromRefusal(error))
}

function jsonFrom(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch (error) {
    const why = error instanceof SyntaxError ? error.message : 'not UTF-8'
    throw refusal('invalid_json', `the body is not JSON: ${why}`)
  }
}

/** Events as bytes, cut when their reader takes none for too long. */
async function* watched(events: AsyncIterable<string>, stall: () => void, timeoutMs: number): AsyncGenerator<Buffer> {
  for await (const event of events) {
    const timer = setTimeout(stall, timeoutMs)
    try {
      yield Buffer.from(event)
    } finally {
      clearTimeout(timer)
    }
  }
}

function send(reply: FastifyReply, answer: Answer, stallTimeoutMs: number): FastifyReply {
  reply.code(answer.status).headers(answer.headers ?? {})
  const { body } = answer
  if (typeof body === 'string' || !(Symbol.asyncIterator in body)) return reply.send(body)
  const bytes = watched(body as AsyncIterable<string>, () => void reply.raw.destroy(), stallTimeoutMs)
  return reply.send(Readable.from(bytes, { objectMode: false, highWaterMark: 16_384 }))
}

/** Adds every route; gives back what cuts off the calls in flight. */
function addRoutes(app: FastifyInstance, room: Room, options: ServerOptions): () => void {
  const calls = createCalls()
  for (const route of routes)
    app.route({
      method: route.method,
      url: route.path,
      async handler(request, reply) {
        const { signal } = calls.open(reply)
        const params = request.params as Readonly<Record<string, string>>
        const answer = await route.answer({ body: request.body, params, signal }, room)
        return send(reply, answer, options.writeStallTimeoutMs ?? 120_000)
      },
    })
  return calls.cutAll
}

function addRules(app: FastifyInstance, room: Room, options: ServerOptions): void {
  const checkKey = createKeyCheck(options.apiKey)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (_request: FastifyRequest, body: Buffer) =>
    jsonFrom(body),
  )
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
    if (room.draining()) reply.header('connection', 'close')
    if (!request.url.startsWith('/healthz/')) checkKey(request.headers.authorization)
  })
  app.addHook('onResponse', async (request, reply) => {
    room.meter.answered(request.routeOptions.url ?? 'unknown', reply.statusCode)
    // An answer begun before the runner was told to stop could not announce that its connection ends.
    if (room.draining()) setImmediate(() => app.server.closeIdleConnections())
  })
  app.setErrorHandler((error, _request, reply) => sendRefusal(reply, refusalFromFastify(error)))
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0]
    const known = routes.find((route) => route.path === path)
    if (!known) return sendRefusal(reply, refusal('unknown_url', `unknown request url: ${request.method} ${path}`))
    reply.header('allow', known.method)
    return sendRefusal(reply, refusal('method_not_allowed', `${path} takes ${known.method} only`))
  })
}

function requestIdFrom(given: string | string[] | undefined): string {
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID()
}

function urlFrom(address: AddressInfo): string {
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return `http://${host}:${address.port}`
}

/** Listens for calls to an engine, in the OpenAI dialect. Throws when the address cannot be had. */
export async function startServer(engine: Engine, options: ServerOptions = {}): Promise<RunningServer> {
  let draining = false
  const room: Room = { engine, meter: createMeter(), draining: () => draining }
  const app = fastify({
    bodyLimit: options.bodyLimitBytes ?? 33_554_432,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    http: { maxHeaderSize: 32_768 },
    genReqId: (request) => requestIdFrom(request.headers['x-request-id']),
  })
  addRules(app, room, options)
  const cutAll = addRoutes(app, room, options)
  await app.listen({ host: options.host ?? '127.0.0.1', port: options.port ?? 0 })
  const close = async (graceMs = 30_000): Promise<void> => {
    draining = true
    const closed = app.close()
    const cut = setTimeout(cutAll, graceMs)
    // A call that was cut off still says so to its client; a connection that will not end is ended.
    const kill = setTimeout(() => app.server.closeAllConnections(), graceMs + 2_000)
    await closed.finally(() => {
      clearTimeout(cut)
      clearTimeout(kill)
    })
  }
  return { url: urlFrom(app.server.address() as AddressInfo), close }
}
