import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import Fastify, { type FastifyError, type FastifyInstance, type FastifyRequest } from 'fastify'
import type { GatewayConfig } from '../config/schema.ts'
import {
  type ErrorCode,
  type GatewayError,
  gatewayError,
  gatewayErrorFrom,
  openaiErrorBody,
} from '../plugins/errors.ts'
import { writeError } from './answer.ts'
import { dialectOfPath } from './dialect.ts'
import type { Rooms } from './rooms.ts'
import { feedback } from './routes/feedback.ts'
import { type InferenceRoute, serveInference } from './routes/inference.ts'
import { messages } from './routes/messages.ts'
import { serveModels } from './routes/models.ts'
import { chat, completions, embeddings } from './routes/openai.ts'
import { passthrough } from './routes/passthrough.ts'
import { beginVisit, finish, frameOf, type Http } from './visit.ts'

/** The data port's listener. */
export interface DataServer {
  /** Where it listens, once it does. */
  readonly url: () => string
  listen(): Promise<void>
  /** Takes no new connections, lets calls under way end until `deadline` aborts, then cuts what is left. */
  close(deadline: AbortSignal): Promise<void>
}

const inference: readonly InferenceRoute[] = [chat, completions, embeddings, messages]

/** Paths that answer here; what is passed through must not reach a runner under one of them. */
export const ownPaths: readonly string[] = [...inference.map(({ path }) => path), '/v1/models', '/v1/feedback']

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
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, request, reply) => refuse(rooms, error as FastifyError, request.raw, reply.hijack().raw),
    ...serverOptions(listen, tls),
  }) as unknown as FastifyInstance
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  for (const kind of inference) {
    app.post(kind.path, (request, reply) => {
      reply.hijack()
      const inbound = { request: request.raw, response: reply.raw, body: bodyOf(request) }
      return serveInference(rooms, kind, inbound)
    })
  }
  app.get('/v1/models', (request, reply) => serveModels(rooms, { request: request.raw, response: reply.hijack().raw }))
  app.post('/v1/feedback', (request, reply) =>
    feedback(rooms, bodyOf(request), { request: request.raw, response: reply.hijack().raw }),
  )
  app.register(async (inner) => passthrough(inner, rooms, ownPaths))
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
  const http = { maxHeaderSize: listen.maxHeaderBytes }
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
  refuseCall(rooms, errorFromFramework(error), { request, response })
}

/** Answers a request that reached no route. */
export function refuseCall(rooms: Rooms, error: GatewayError, http: Http): void {
  const kind = { route: 'passthrough', path: '/*', dialect: dialectOfPath(http.request.url ?? '') } as const
  const visit = beginVisit(rooms, kind, http)
  if (!http.response.headersSent) writeError(frameOf(rooms, visit), error)
  finish(rooms, visit, error)
}

/** A request that is not HTTP, or whose head is too large, gets a small answer and its connection is closed. */
function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const code: ErrorCode =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? 'header_fields_too_large'
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? 'request_timeout'
        : 'invalid_request'
  const fault = gatewayError(
    code,
    code === 'invalid_request' ? 'the request is not valid HTTP' : code.replaceAll('_', ' '),
  )
  const body = JSON.stringify(openaiErrorBody(fault))
  socket.end(
    `HTTP/1.1 ${fault.status} Refused\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
}

function listener(app: FastifyInstance, listen: GatewayConfig['listen']): DataServer {
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
    async close(deadline) {
      // Fastify waits for keep-alive sockets that became idle after the close began; nobody else closes those.
      const sweep = setInterval(() => app.server.closeIdleConnections(), 100)
      const cut = (): void => app.server.closeAllConnections()
      deadline.addEventListener('abort', cut)
      if (deadline.aborted) cut()
      try {
        await app.close()
      } finally {
        clearInterval(sweep)
        deadline.removeEventListener('abort', cut)
      }
    },
  }
}
