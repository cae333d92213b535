import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { isLoopback } from '../../config/loopback.ts'
import { gatewayError, gatewayErrorFrom } from '../../plugins/errors.ts'
import { type AccessRules, admit, isLook } from './access.ts'
import { type Answer, type Endpoint, isPathOf } from './endpoint.ts'
import { endpoints } from './endpoints.ts'
import type { Actor, Operations } from './operations.ts'
import { answerFromError } from './problem.ts'

/** One change that somebody made, or tried to make, through the admin port. */
export interface ChangeRecord {
  readonly actor: Actor
  readonly path: string
  readonly reason?: string
  /** Status of the answer. */
  readonly status: number
}

/** How the admin port listens. */
export interface AdminOptions {
  readonly host: string
  /** 0: whichever is free. */
  readonly port: number
  /** Asked for each request, so that a reload counts at once. */
  readonly rules: () => Omit<AccessRules, 'loopback'>
  readonly operations: Operations
  /** Hears of every change that an actor asked for. */
  readonly changed?: (record: ChangeRecord) => void
}

/** A listening admin port. */
export interface RunningAdmin {
  readonly url: string
  /** Ends waits and connections, and stops listening. */
  close(): Promise<void>
}

/** Requests of `/-/drain/wait` that are kept waiting at most; nobody needs a token for it. */
const maxWaiting = 100
const bodyLimitBytes = 65_536

interface Room {
  readonly options: AdminOptions
  readonly loopback: () => boolean
  readonly actors: WeakMap<FastifyRequest, Actor>
  readonly closing: AbortController
  waiting: number
}

/** Listens for people on call, probes and metrics. Throws when the address cannot be had. */
export async function startAdmin(options: AdminOptions): Promise<RunningAdmin> {
  const app = fastify({
    bodyLimit: bodyLimitBytes,
    forceCloseConnections: true,
    http: { maxHeaderSize: 16_384, requestTimeout: 10_000 },
    routerOptions: { ignoreTrailingSlash: false },
  })
  const loopback = (): boolean => isLoopback((app.server.address() as AddressInfo).address)
  const room: Room = { options, loopback, actors: new WeakMap(), closing: new AbortController(), waiting: 0 }
  addRules(app, room)
  for (const endpoint of endpoints) addEndpoint(app, endpoint, room)
  await app.listen({ host: options.host, port: options.port })
  return {
    url: urlFrom(app.server.address() as AddressInfo),
    async close() {
      room.closing.abort()
      await app.close()
    },
  }
}

function urlFrom({ family, address, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

function addRules(app: FastifyInstance, room: Room): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, async (_request: FastifyRequest, body: string) =>
    bodyFromText(body),
  )
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', 'x-frame-options': 'DENY' })
    room.actors.set(request, admit(askedFrom(request), { ...room.options.rules(), loopback: room.loopback() }))
  })
  app.addHook('onResponse', async (request, reply) => {
    const actor = room.actors.get(request)
    if (!actor || isLook({ method: request.method, path: pathOf(request) })) return
    const reason = (request.body as { reason?: unknown } | undefined)?.reason
    const said = typeof reason === 'string' ? { reason: reason.slice(0, 1_000) } : {}
    room.options.changed?.({ actor, path: pathOf(request), ...said, status: reply.statusCode })
  })
  app.setErrorHandler((error, _request, reply) =>
    send(reply, answerFromError(gatewayErrorFrom(errorFromFastify(error)))),
  )
  app.setNotFoundHandler((request, reply) => send(reply, answerFromError(missing(request))))
}

function askedFrom(request: FastifyRequest) {
  const headers = request.headers as Record<string, string | undefined>
  const hostCount = request.raw.rawHeaders.filter(
    (name, index) => index % 2 === 0 && name.toLowerCase() === 'host',
  ).length
  const localAddress = request.socket.localAddress ?? ''
  return { method: request.method, path: pathOf(request), headers, hostCount, localAddress }
}

const pathOf = (request: FastifyRequest): string => request.url.split('?', 1)[0] as string

function bodyFromText(text: string): unknown {
  try {
    return text.trim() === '' ? {} : JSON.parse(text)
  } catch {
    throw gatewayError('invalid_json', 'the body is not JSON')
  }
}

function errorFromFastify(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return gatewayError('body_too_large', `a change is at most ${bodyLimitBytes} bytes`)
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined
  return status === 400 ? gatewayError('invalid_request', 'the request cannot be read') : error
}

function missing(request: FastifyRequest) {
  const path = pathOf(request)
  const methods = endpoints.filter((endpoint) => isPathOf(endpoint, path)).map((endpoint) => endpoint.method)
  if (methods.length > 0) {
    const allow = methods.join(', ')
    return gatewayError('method_not_allowed', `${path} takes ${allow} only`, { headers: { allow } })
  }
  return gatewayError('not_found', `there is no ${path}`)
}

function addEndpoint(app: FastifyInstance, endpoint: Endpoint, room: Room): void {
  app.route({
    method: endpoint.method,
    url: endpoint.path,
    async handler(request, reply) {
      const gone = new AbortController()
      reply.raw.once('close', () => gone.abort())
      const question = {
        params: request.params as Record<string, string>,
        query: new URLSearchParams(request.url.slice(pathOf(request).length)),
        body: request.body ?? {},
        ifNoneMatch: request.headers['if-none-match'],
        actor: room.actors.get(request) as Actor,
        accept: request.headers.accept,
        signal: AbortSignal.any([gone.signal, room.closing.signal]),
      }
      const answer = await counted(endpoint, room, () => endpoint.run(room.options.operations, question))
      return send(reply, answer)
    },
  })
}

async function counted(endpoint: Endpoint, room: Room, run: () => Answer | Promise<Answer>): Promise<Answer> {
  if (endpoint.path !== '/-/drain/wait') return run()
  if (room.waiting >= maxWaiting)
    throw gatewayError('no_capacity', 'too many are waiting already', { retryAfterMs: 1_000 })
  room.waiting++
  try {
    return await run()
  } finally {
    room.waiting--
  }
}

function send(
  reply: FastifyReply,
  { status = 200, contentType = 'application/json', headers = {}, body }: Answer,
): FastifyReply {
  const told = reply.code(status).headers({ ...headers, 'content-type': contentType })
  if (body instanceof Readable) return told.send(body)
  return told.send(Buffer.from(typeof body === 'string' ? body : `${JSON.stringify(body)}\n`))
}
