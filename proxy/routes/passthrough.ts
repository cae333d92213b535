import { type IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { type GatewayError, gatewayError, gatewayErrorFrom } from '../../plugins/errors.ts'
import { replyFromBytes } from '../../plugins/reply.ts'
import { through } from '../../plugins/stack.ts'
import { writeError } from '../answer.ts'
import { drainBody } from '../byte-limit.ts'
import { dialectOfPath } from '../dialect.ts'
import type { Rooms } from '../rooms.ts'
import { type SafePath, safePath } from '../safe-path.ts'
import { beginVisit, callOf, finish, frameOf, type Http, type Visit } from '../visit.ts'
import { passRequest } from './passthrough-request.ts'
import { passUpgrade, type Upgrade, watchHangUp } from './passthrough-upgrade.ts'

// Paths of a runner that no caller may reach, whatever the allow-list says.
const neverPassed = /^\/(?:\.well-known\/execution-context|metrics|healthz)/

/**
 * Everything that is not a route of our own: passed through as bytes to a runner, behind auth and request limits, when its path is on
 * `listen.passthrough`. WebSocket upgrades likewise. `ownPaths` are the paths that never are, with the methods they know.
 */
export function passthrough(app: FastifyInstance, rooms: Rooms, ownPaths: ReadonlyMap<string, string>): void {
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
    response.shouldKeepAlive = false
    void passOn(rooms, ownPaths, { request, response, upgrade: { socket, head, unwatched: watchHangUp(socket) } })
  })
}

/** A request that is passed on, and, when it asks for an upgrade, its socket and what has already arrived on it. */
export interface Passing extends Http {
  readonly upgrade?: Upgrade
}

/** What passing on takes. */
export interface Passage {
  readonly rooms: Rooms
  readonly visit: Visit
  readonly path: SafePath
  /** Headers that layers want on the answer. */
  readonly more: Readonly<Record<string, string>>
}

async function passOn(rooms: Rooms, ownPaths: ReadonlyMap<string, string>, passing: Passing): Promise<void> {
  const kind = { route: 'passthrough', path: '/*', dialect: dialectOfPath(passing.request.url ?? '') } as const
  const visit = beginVisit(rooms, kind, passing)
  let failure: GatewayError | undefined
  try {
    const path = allowedPath(passing.request, visit, ownPaths)
    const ended = Promise.withResolvers<void>()
    ended.promise.catch(() => undefined)
    const reply = await through(visit.setup.seating('passthrough').seats, callOf(visit, Buffer.alloc(0)), {
      inside: async () =>
        replyFromBytes({ status: 200, streamed: false, source: 'runner' }, 'opaque', untilEnded(ended.promise)),
      witness: visit.record,
    })
    visit.record.source = 'runner'
    const passage = { rooms, visit, path, more: reply.headers }
    const passed = passing.upgrade ? passUpgrade(passage, passing.upgrade) : passRequest(passage)
    passed.then(ended.resolve, ended.reject)
    for await (const _ of reply.bytes());
  } catch (reason) {
    failure = gatewayErrorFrom(reason)
    refuse(rooms, { visit, passing, failure })
  }
  finish(rooms, visit, failure)
}

// biome-ignore lint/correctness/useYield: an opaque reply that brings no bytes here, and ends when the proxied exchange has.
async function* untilEnded(ended: Promise<void>): AsyncGenerator<Buffer> {
  await ended
}

interface Refused {
  readonly visit: Visit
  readonly passing: Passing
  readonly failure: GatewayError
}

function refuse(rooms: Rooms, { visit, passing, failure }: Refused): void {
  const { request, response, upgrade } = passing
  // What has begun cannot be taken back: only a cut says that it is not whole.
  if (response.headersSent || response.destroyed) return void response.destroy()
  // Once the handshake is on its way, whoever passes it on says what became of it.
  if (upgrade && !response.socket) return
  writeError(frameOf(rooms, visit), failure)
  if (upgrade) upgrade.socket.end()
  else drainBody(request, 4 * visit.setup.config.listen.bodyLimitBytes)
}

function allowedPath(
  { url = '/', method = 'GET' }: IncomingMessage,
  { setup }: Visit,
  ownPaths: ReadonlyMap<string, string>,
): SafePath {
  const path = safePath(url)
  const allow = ownPaths.get(path.plain)
  if (allow !== undefined && path.raw.split('?')[0] === path.plain) throw notAllowed(method, path.plain, allow)
  const listed = setup.config.listen.passthrough.some(
    (prefix) => path.raw.startsWith(prefix) && path.plain.startsWith(prefix.toLowerCase().replace(/\/$/, '')),
  )
  if (allow !== undefined || !listed || neverPassed.test(path.plain))
    throw gatewayError('not_found', 'there is nothing at this path')
  // It would give a caller the gateway's own headers to the runner back.
  if (method === 'TRACE') throw notAllowed(method, 'any path', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS')
  return path
}

function notAllowed(method: string, where: string, allow: string): GatewayError {
  return gatewayError('method_not_allowed', `${method} is not allowed on ${where}`, {
    field: 'method',
    headers: { allow },
  })
}
