import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import Fastify, { type FastifyError, type FastifyInstance, type FastifyRequest } from 'fastify'
import type { GatewayConfig } from '../config/schema.ts'
import { type ErrorCode, type GatewayError, gatewayError, gatewayErrorFrom } from '../plugins/errors.ts'
import { writeError } from './answer.ts'
import { drainBody } from './byte-limit.ts'
import { answerClientError } from './client-error.ts'
import { dialectOfPath } from './dialect.ts'
import { type PartingTime, watchConnections } from './parting.ts'
import type { Rooms } from './rooms.ts'
import { feedback } from './routes/feedback.ts'
import { type InferenceRoute, serveInference } from './routes/inference.ts'
import { messages } from './routes/messages.ts'
import { serveModels } from './routes/models.ts'
import { chat, completions, embeddings } from './routes/openai.ts'
import { passthrough } from './routes/passthrough.ts'
import { isWebSocket } from './routes/passthrough-upgrade.ts'
import { beginVisit, finish, frameOf, type Http } from './visit.ts'

/** The data port's listener. */
export interface DataServer {
  /** Where it listens, once it does. */
  readonly url: () => string
  listen(): Promise<void>
  /** Takes no new connections and lets calls under way end; cuts what is left when its time is up. */
  close(time: PartingTime): Promise<void>
}

const inference: readonly InferenceRoute[] = [chat, completions, embeddings, messages]

/** Paths that answer here and the methods they know; what is passed through must not reach a runner under one of them. */
export const ownPaths: ReadonlyMap<string, string> = new Map([
  ...inference.map(({ path }) => [path, 'POST'] as const),
  ['/v1/models', 'GET, HEAD'],
  ['/v1/feedback', 'POST'],
])

/** Makes the listener: routes, size limits, the error map. Nothing listens before `listen`. */
export function createDataServer(rooms: Rooms, { listen }: GatewayConfig, tls: TlsFiles | undefined): DataServer {
  const app = Fastify({
    logger: false,
    bodyLimit: listen.bodyLimitBytes,
    keepAliveTimeout: listen.keepAliveTimeoutMs,
    requestTimeout: listen.requestTimeoutMs,
    forceCloseConnections: false,
    return503OnClosing: false,
    routerOptions: { maxParamLength: 1024 },
    clientErrorHandler: (error, socket) => answerClientError(rooms, error, socket as Socket),
    frameworkErrors: (error, request, reply) => refuse(rooms, error as FastifyError, request.raw, reply.hijack().raw),
    ...serverOptions(listen, tls),
  }) as unknown as FastifyInstance
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  for (const kind of inference) {
    app.post(kind.path, (request, reply) => {
      const body = bodyOf(request)
      return serveInference(rooms, kind, { request: request.raw, response: reply.hijack().raw, body })
    })
  }
  app.get('/v1/models', (request, reply) => serveModels(rooms, { request: request.raw, response: reply.hijack().raw }))
  app.post('/v1/feedback', (request, reply) =>
    feedback(rooms, bodyOf(request), { request: request.raw, response: reply.hijack().raw }),
  )
  app.register(async (inner) => passthrough(inner, rooms, ownPaths))
  app.setNotFoundHandler((request, reply) =>
    refuseCall(rooms, unknownMethod(request.method), { request: request.raw, response: reply.hijack().raw }),
  )
  answerExpectations(app, rooms, listen.bodyLimitBytes)
  app.setErrorHandler((error: FastifyError, request, reply) => refuse(rooms, error, request.raw, reply.hijack().raw))
  return listener(app, listen)
}

/** PEM files of the data port, read. */
export interface TlsFiles {
  readonly cert: Buffer
  readonly key: Buffer
  readonly ca?: Buffer
}

function serverOptions(listen: GatewayConfig['listen'], tls: TlsFiles | undefined) {
  const http = {
    maxHeaderSize: listen.maxHeaderBytes,
    // An offer of another protocol, such as the h2c that some clients make with every request, may be ignored (RFC 9110 §7.8).
    shouldUpgradeCallback: isWebSocket,
  }
  const requestCert = listen.tls?.requestClientCert ?? false
  return tls ? { https: { ...http, ...tls, requestCert, rejectUnauthorized: requestCert } } : { http }
}

function bodyOf(request: FastifyRequest): Buffer {
  if (request.headers['content-encoding'] && request.headers['content-encoding'] !== 'identity') {
    throw gatewayError('unsupported_media_type', 'compressed request bodies are not accepted', {
      field: 'content-encoding',
    })
  }
  return Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
}

const codes: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'invalid_request',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_BAD_URL: 'invalid_path',
  FST_ERR_ROUTE_MAX_PARAM_LENGTH: 'invalid_path',
}

/** What the framework refuses before a route is reached, said as every other error is. */
function errorFromFramework(error: FastifyError): GatewayError {
  const code = codes[error.code]
  if (code)
    return gatewayError(code, code === 'body_too_large' ? 'the request body is too large' : error.message.toLowerCase())
  if (error.statusCode !== undefined && error.statusCode < 500)
    return gatewayError('invalid_request', error.message.toLowerCase())
  return gatewayErrorFrom(error)
}

function refuse(rooms: Rooms, error: FastifyError, request: IncomingMessage, response: ServerResponse): void {
  const broken = !request.complete && request.destroyed
  refuseCall(rooms, broken ? brokenOff(rooms.draining()) : errorFromFramework(error), { request, response })
}

/** A request that ended in the middle: its caller left, or was cut off. */
function brokenOff(draining: boolean): GatewayError {
  if (draining) return gatewayError('draining', 'the gateway is leaving')
  return gatewayError('client_closed', 'the caller went away in the middle of its request')
}

function unknownMethod(method: string): GatewayError {
  return gatewayError('method_not_allowed', `${method} is not allowed`, { field: 'method' })
}

/** `Expect: 100-continue` is granted only to a body that may be sent; an expectation nobody knows is refused (RFC 9110 §10.1.1). */
function answerExpectations({ server }: FastifyInstance, rooms: Rooms, bodyLimit: number): void {
  server.on('checkContinue', (request, response) => {
    if (Number(request.headers['content-length'] ?? 0) <= bodyLimit) response.writeContinue()
    server.emit('request', request, response)
  })
  server.on('checkExpectation', (request, response) => {
    const error = gatewayError('invalid_request', 'the expectation is not one that can be met', { status: 417 })
    refuseCall(rooms, error, { request, response })
  })
}

/** Answers a request that reached no route. */
function refuseCall(rooms: Rooms, error: GatewayError, http: Http): void {
  const path = (http.request.url ?? '').split('?')[0] ?? ''
  const passed = { route: 'passthrough', path: '/*', dialect: dialectOfPath(path) } as const
  const kind = inference.find((each) => each.path === path) ?? passed
  const visit = beginVisit(rooms, kind, http)
  if (!http.response.headersSent) writeError(frameOf(rooms, visit), error)
  if (error.code === 'body_too_large') drainBody(http.request, 4 * visit.setup.config.listen.bodyLimitBytes)
  finish(rooms, visit, error)
}

function listener(app: FastifyInstance, listen: GatewayConfig['listen']): DataServer {
  const parting = watchConnections(app.server)
  return {
    url: () => {
      const address = app.server.address()
      const port = address !== null && typeof address === 'object' ? address.port : listen.port
      const host = listen.host.includes(':') ? `[${listen.host}]` : listen.host
      return `${listen.tls ? 'https' : 'http'}://${host}:${port}`
    },
    async listen() {
      await app.listen({ host: listen.host, port: listen.port })
    },
    close: (time) => parting.until(app.close(), time),
  }
}
