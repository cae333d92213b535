import { randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { type FastifyInstance, type FastifyRequest, fastify } from 'fastify'
import { isLoopback } from '../config/loopback.ts'
import { maxCarrierBytes } from '../plugins/policy-carrier.ts'
import { createAdmission } from './admission.ts'
import { askedFrom } from './asking.ts'
import { createCalls } from './calls.ts'
import type { Engine } from './engine.ts'
import { execute } from './execute.ts'
import type { Execution } from './execution.ts'
import type { Meter } from './meter.ts'
import { contextHeader } from './opened-call.ts'
import { type Refusal, refusal, refusalFrom } from './refusal.ts'
import { embeddings } from './routes/embeddings.ts'
import { chat, completions } from './routes/generation.ts'
import { model, models } from './routes/models.ts'
import { live, metrics, ready, startup } from './routes/operations.ts'
import type { Room, Route } from './routes/route.ts'
import { tokenize } from './routes/tokenize.ts'
import { capabilities, decide, getPolicy, putPolicy } from './routes/well-known.ts'
import { send, sendRefusal } from './sending.ts'

const operations: readonly Route[] = [live, ready, startup, metrics]
const signed: readonly Route[] = [capabilities, putPolicy, getPolicy, decide]
const routes: readonly Route[] = [chat, completions, embeddings, models, model, tokenize, ...operations, ...signed]

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

/** Adds endpoints; gives back what cuts off their calls in flight. */
function addRoutes(app: FastifyInstance, added: readonly Route[], { room, options }: Serving): () => void {
  const calls = createCalls()
  for (const route of added)
    app.route({
      method: route.method,
      url: route.path,
      config: { route },
      ...(route.method === 'PUT' ? { bodyLimit: 2 * maxCarrierBytes } : {}),
      async handler(request, reply) {
        const asked = askedFrom(request, calls.open(reply.raw))
        const executes = route.executes && asked.headers[contextHeader] !== undefined
        const answer = await (executes ? execute(route, asked, room) : route.answer(asked, room))
        return send(reply, answer, options.writeStallTimeoutMs ?? 120_000)
      },
    })
  return calls.cutAll
}

interface Serving {
  readonly room: Room
  readonly options: ServerOptions
}

// Bodies stay bytes: what is signed are the bytes, and nothing is parsed before that is checked.
const asBytes = async (_request: FastifyRequest, body: Buffer): Promise<Buffer> => body

function addRules(app: FastifyInstance, { room, options }: Serving): void {
  const admit = createAdmission(options.apiKey, room.execution)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, asBytes)
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
    if (room.draining()) reply.header('connection', 'close')
    const { route } = request.routeOptions.config as { readonly route?: Route }
    const refusal = admit({ route, url: request.url, headers: request.headers })
    if (!refusal) return
    await send(reply, room.execution.refused(refusal), 0)
  })
  app.addHook('onResponse', async (request, reply) => {
    room.meter.answered(request.routeOptions.url ?? 'unknown', reply.statusCode)
    // An answer begun before the runner was told to stop could not announce that its connection ends.
    if (room.draining()) setImmediate(() => app.server.closeIdleConnections())
  })
  app.setErrorHandler((error, _request, reply) => sendRefusal(reply, refusalFromFastify(error)))
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0] as string
    const known = routes.filter((route) => matches(route, path)).map(({ method }) => method)
    if (known.length === 0)
      return sendRefusal(reply, refusal('unknown_url', `unknown request url: ${request.method} ${path}`))
    reply.header('allow', known.join(', '))
    return sendRefusal(reply, refusal('method_not_allowed', `${path} takes ${known.join(', ')} only`))
  })
}

function matches({ path }: Route, asked: string): boolean {
  const [before = '', named] = path.split(':')
  return named === undefined ? path === asked : asked.startsWith(before) && !asked.slice(before.length).includes('/')
}

function requestIdFrom(given: string | string[] | undefined): string {
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID()
}

function urlFrom(address: AddressInfo): string {
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return `http://${host}:${address.port}`
}

/** What a server serves, and with what. */
export interface ServerParts {
  readonly engine: Engine
  readonly execution: Execution
  readonly meter: Meter
}

/** Listens for calls to an engine, in the OpenAI dialect. Throws when the address cannot be had, or is open to others than plain calls may be. */
export async function startServer(parts: ServerParts, options: ServerOptions = {}): Promise<RunningServer> {
  const { host = '127.0.0.1', port = 0 } = options
  if (parts.execution.allowPlain && !isLoopback(host))
    throw refusal('invalid_value', `plain calls are allowed on a loopback address only, not on ${host}`)
  let draining = false
  const serving: Serving = { room: { ...parts, draining: () => draining }, options }
  const app = fastify({
    bodyLimit: options.bodyLimitBytes ?? 33_554_432,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    http: { maxHeaderSize: 32_768 },
    genReqId: (request) => requestIdFrom(request.headers['x-request-id']),
  })
  addRules(app, serving)
  const unsigned = routes.filter((route) => !route.signed)
  const cuts = [addRoutes(app, unsigned, serving)]
  app.register(async (scope) => {
    // A signed body may come under any name, such as application/jose.
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, asBytes)
    cuts.push(addRoutes(scope, signed, serving))
  })
  await app.listen({ host, port })
  const close = async (graceMs = 30_000): Promise<void> => {
    draining = true
    const closed = app.close()
    const cut = setTimeout(() => cuts.forEach((each) => void each()), graceMs)
    // A call that was cut off still says so to its client; a connection that will not end is ended.
    const kill = setTimeout(() => app.server.closeAllConnections(), graceMs + 2_000)
    await closed.finally(() => {
      clearTimeout(cut)
      clearTimeout(kill)
    })
  }
  return { url: urlFrom(app.server.address() as AddressInfo), close }
}
