import { once } from 'node:events'
import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex, Transform } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { type GatewayError, gatewayError, gatewayErrorFrom } from '../../plugins/errors.ts'
import { replyFromBytes } from '../../plugins/reply.ts'
import { through } from '../../plugins/stack.ts'
import { writeError } from '../answer.ts'
import { createByteLimit } from '../byte-limit.ts'
import { dialectOfPath } from '../dialect.ts'
import { runnerError } from '../exchange.ts'
import { forwardedHeaders } from '../forwarded-headers.ts'
import { ownHeaders } from '../own-headers.ts'
import type { Rooms } from '../rooms.ts'
import { outwardHeaders } from '../runner-reply.ts'
import { basePath, type RunnerSettings } from '../runner-settings.ts'
import { type SafePath, safePath } from '../safe-path.ts'
import { beginVisit, callOf, finish, frameOf, type Visit } from '../visit.ts'

// Paths of a runner that no caller may reach, whatever the allow-list says.
const neverPassed = /^\/(?:\.well-known\/execution-context|metrics|healthz)/

/**
 * Everything that is not a route of our own: passed through as bytes to a runner, behind auth and request limits, when its path is on
 * `listen.passthrough`. WebSocket upgrades likewise.
 */
export function passthrough(app: FastifyInstance, rooms: Rooms, ownPaths: readonly string[]): void {
  app.removeAllContentTypeParsers()
  // The body is not read: it streams on.
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  app.all('/*', (request, reply) => {
    reply.hijack()
    return passOn(rooms, ownPaths, { request: request.raw, response: reply.raw })
  })
  app.server.on('upgrade', (request, socket, head) => {
    const response = new ServerResponse(request)
    response.assignSocket(socket as never)
    void passOn(rooms, ownPaths, { request, response, upgrade: { socket, head } })
  })
}

interface Passing {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly upgrade?: { readonly socket: Duplex; readonly head: Buffer }
}

async function passOn(rooms: Rooms, ownPaths: readonly string[], passing: Passing): Promise<void> {
  const kind = { route: 'passthrough', path: '/*', dialect: dialectOfPath(passing.request.url ?? '') } as const
  const visit = beginVisit(rooms, kind, passing)
  let failure: GatewayError | undefined
  try {
    const path = allowedPath(passing.request, visit, ownPaths)
    const ended = Promise.withResolvers<void>()
    ended.promise.catch(() => undefined)
    const reply = await through(visit.setup.seating.passthrough.seats, callOf(visit, Buffer.alloc(0)), {
      inside: async () =>
        replyFromBytes({ status: 200, streamed: false, source: 'runner' }, 'opaque', untilEnded(ended.promise)),
      witness: visit.record,
    })
    visit.record.source = 'runner'
    const proxied = proxy(rooms, { visit, passing, path, more: reply.headers }).then(ended.resolve, ended.reject)
    for await (const _ of reply.bytes());
    await proxied
  } catch (reason) {
    failure = gatewayErrorFrom(reason)
    if (passing.response.headersSent || passing.response.destroyed) passing.request.destroy()
    else {
      if (passing.upgrade) passing.response.shouldKeepAlive = false
      writeError(frameOf(rooms, visit), failure)
      passing.upgrade?.socket.end()
    }
  }
  if (!failure && !passing.response.writableFinished && !passing.upgrade) await once(passing.response, 'close')
  finish(rooms, visit, failure)
}

// biome-ignore lint/correctness/useYield: an opaque reply that brings no bytes here, and ends when the proxied exchange has.
async function* untilEnded(ended: Promise<void>): AsyncGenerator<Buffer> {
  await ended
}

function allowedPath(request: IncomingMessage, { setup }: Visit, ownPaths: readonly string[]): SafePath {
  const path = safePath(request.url ?? '/')
  if (ownPaths.includes(path.plain)) {
    const exact = path.raw.split('?')[0] === path.plain
    throw exact
      ? gatewayError('method_not_allowed', `${request.method} is not allowed on ${path.plain}`, { field: 'method' })
      : gatewayError('not_found', 'there is nothing at this path')
  }
  const listed = setup.config.listen.passthrough.some(
    (prefix) => path.raw.startsWith(prefix) && path.plain.startsWith(prefix.toLowerCase().replace(/\/$/, '')),
  )
  if (!listed || neverPassed.test(path.plain)) throw gatewayError('not_found', 'there is nothing at this path')
  return path
}

interface Proxying {
  readonly visit: Visit
  readonly passing: Passing
  readonly path: SafePath
  /** Headers that layers want on the answer. */
  readonly more: Readonly<Record<string, string>>
}

/** Hands the exchange to http-proxy, loaded on first need. Resolves when it is over. */
async function proxy(rooms: Rooms, proxying: Proxying): Promise<void> {
  const { visit, passing, path } = proxying
  const { createProxyServer } = await import('http-proxy')
  const runner = chooseRunner(visit)
  const { request, response, upgrade } = passing
  const peerHeaders = forwardedHeaders(request.headers)
  request.headers = upgrade ? { ...peerHeaders, connection: 'Upgrade', upgrade: 'websocket' } : peerHeaders
  request.url = path.raw
  const server = createProxyServer({
    target: new URL(runner.url).origin + basePath(runner.url),
    changeOrigin: true,
    headers: { ...runner.headers, ...(runner.apiKey ? { authorization: `Bearer ${runner.apiKey}` } : {}) },
    connectTimeout: runner.connectTimeoutMs,
    proxyTimeout: runner.firstByteTimeoutMs,
    ...(runner.tls?.ca ? { ssl: { ca: runner.tls.ca } } : {}),
  })
  const own = (): Record<string, string> => ({
    ...proxying.more,
    ...ownHeaders(visit, rooms.draining()),
    'x-request-id': visit.caller.requestId,
  })
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void =>
      reject(visit.caller.signal.aborted ? gatewayError('client_closed', 'the caller went away') : runnerError(error))
    if (upgrade) {
      response.detachSocket(upgrade.socket as never)
      response.statusCode = 101
      upgrade.socket.on('close', resolve)
      server.on('proxyReqWs', (outgoing) =>
        outgoing.prependListener('upgrade', (answer) => Object.assign(answer.headers, own())),
      )
      server.ws(request, upgrade.socket as never, upgrade.head, {}, (error) => {
        if (upgrade.socket.writable) upgrade.socket.write(refusedUpgrade(runnerError(error), own()))
        resolve()
      })
      return
    }
    server.on('proxyRes', (answer) => {
      answer.headers = { ...outwardHeaders(answer.headers, visit.setup.names), ...framingOf(answer), ...own() }
      visit.record.firstByteMs ??= visit.record.elapsedMs()
      // http-proxy pipes, and a pipe does not notice that its source broke off.
      answer.on('close', () => (answer.complete ? undefined : response.destroy()))
    })
    response.on('close', resolve)
    server.web(request, response, { buffer: limited(request, visit, fail) }, (error) => fail(error))
  })
}

function framingOf(answer: IncomingMessage): Record<string, string> {
  const kept = ['content-length', 'content-type', 'content-encoding', 'cache-control', 'transfer-encoding']
  return Object.fromEntries(
    kept.flatMap((name) => (answer.headers[name] ? [[name, String(answer.headers[name])]] : [])),
  )
}

function limited(request: IncomingMessage, { setup }: Visit, fail: (error: Error) => void): Transform {
  const limit = createByteLimit(setup.config.listen.bodyLimitBytes)
  limit.on('error', fail)
  return request.pipe(limit)
}

function chooseRunner({ setup }: Visit): RunnerSettings {
  const name = setup.board.names.find((each) => setup.board.state(each).available)
  const runner = setup.runnerSettings.find((each) => each.name === name)
  if (!runner) throw gatewayError('runner_unreachable', 'every runner is out of rotation', { retryAfterMs: 1000 })
  return runner
}

function refusedUpgrade(error: GatewayError, headers: Record<string, string>): string {
  const lines = Object.entries({ ...headers, connection: 'close', 'content-length': '0' }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  return `HTTP/1.1 ${error.status} Refused\r\n${lines.join('')}\r\n`
}
