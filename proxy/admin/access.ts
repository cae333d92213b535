import { isLoopback, plainAddress } from '../../config/loopback.ts'
import { gatewayError } from '../../plugins/errors.ts'
import { hostNameFromHeader } from './host-name.ts'
import type { Actor } from './operations.ts'
import { type AdminToken, findToken } from './tokens.ts'

/** What the rules of the admin port look at in a request. */
export interface Asked {
  readonly method: string
  /** Path without the query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string | undefined>>
  /** How many `Host` headers there were. */
  readonly hostCount: number
  /** Address of this end of the connection. */
  readonly localAddress: string
}

/** What the rules are made of. */
export interface AccessRules {
  readonly tokens: readonly AdminToken[]
  readonly allowedHosts: readonly string[]
  /** True when the listener can be reached from this machine only: then no token is asked for. */
  readonly loopback: boolean
}

/** Paths that anybody may GET: what Kubernetes and Prometheus ask for. */
const openPaths: ReadonlySet<string> = new Set([
  '/healthz/live',
  '/healthz/ready',
  '/healthz/startup',
  '/metrics',
  '/-/drain/wait',
])

/** Whether a path is the page itself, without anything that it shows: a form for the token has to come from somewhere. */
function isShell(path: string): boolean {
  return path === '/' || path.startsWith('/-/page/')
}

/** Where Argo Rollouts and Flagger ask. */
export const analysisPath = '/-/analysis'

/** Where other replicas speak. */
export const peersPath = '/-/peers'

/** Whether a request only looks: a GET, a webhook that asks and changes nothing, or a replica's message, which is no person's change. */
export function isLook({ method, path }: Pick<Asked, 'method' | 'path'>): boolean {
  return method === 'GET' || method === 'HEAD' || isHook(path) || path === peersPath
}

const isHook = (path: string): boolean => path.startsWith(`${analysisPath}/`)

const nobody: Actor = { name: 'nobody', role: 'viewer', verified: false }

/**
 * Who asks, if they may. Throws `forbidden` for a `Host` or `Origin` that is not ours (DNS rebinding, cross-site requests) and for a
 * role that is too small, `unauthenticated` without a good token, `unsupported_media_type` for a change that is not JSON.
 */
export function admit(asked: Asked, rules: AccessRules): Actor {
  const looking = asked.method === 'GET' || asked.method === 'HEAD'
  if (looking && openPaths.has(asked.path)) return nobody
  // Signed messages: who is in front of them, and by which name, does not matter.
  if (asked.method === 'POST' && asked.path === peersPath) return requireJson(asked, nobody)
  checkHost(asked, rules)
  checkOrigin(asked)
  if (looking && isShell(asked.path)) return nobody
  const actor = actorFromToken(asked, rules)
  if (looking) return actor
  if (asked.method !== 'POST') throw gatewayError('method_not_allowed', 'changes are POST, everything else is GET')
  if (actor.role !== 'operator' && !isLook(asked))
    throw gatewayError('forbidden', 'this token may look but not change anything')
  return requireJson(asked, actor)
}

function requireJson(asked: Asked, actor: Actor): Actor {
  if (!isJson(asked.headers['content-type'])) {
    throw gatewayError('unsupported_media_type', 'a change needs content-type: application/json')
  }
  return actor
}

function checkHost({ headers, hostCount, localAddress }: Asked, { allowedHosts }: AccessRules): void {
  const host = hostCount === 1 ? hostNameFromHeader(headers['host'] ?? '') : undefined
  if (host) {
    if (isLoopback(host.name) || plainAddress(host.name) === plainAddress(localAddress)) return
    if (allowedHosts.some((allowed) => sameHost(allowed, host.name, host.port))) return
  }
  throw gatewayError(
    'forbidden',
    'the host header must be loopback, the address of this listener, or on admin.allowedHosts',
  )
}

function sameHost(allowed: string, name: string, port: string | undefined): boolean {
  const wanted = hostNameFromHeader(allowed)
  return wanted?.name === name && (wanted.port === undefined || wanted.port === port)
}

function checkOrigin({ headers }: Asked): void {
  const origin = headers['origin']
  if (origin === undefined) return
  const url = URL.canParse(origin) ? new URL(origin) : undefined
  const web = url?.protocol === 'http:' || url?.protocol === 'https:'
  // The host header as a URL of the same scheme, so that a default port counts the same written or not.
  const own =
    web && URL.canParse(`${url.protocol}//${headers['host']}`)
      ? new URL(`${url.protocol}//${headers['host']}`)
      : undefined
  if (!own || own.host !== url?.host)
    throw gatewayError('forbidden', 'the origin header does not match the host header')
}

function actorFromToken({ headers, path }: Asked, { tokens, loopback }: AccessRules): Actor {
  const authorization = headers['authorization']
  if (authorization === undefined && loopback) {
    return { name: claimedName(headers['x-foldgate-actor']), role: 'operator', verified: false }
  }
  const presented = bearerFrom(authorization) ?? (isHook(path) ? passwordFrom(authorization) : undefined)
  const token = presented === undefined ? undefined : findToken(tokens, presented)
  if (token) return { name: token.name, role: token.role, verified: true }
  throw gatewayError('unauthenticated', 'a good token is needed: authorization: Bearer', {
    headers: { 'www-authenticate': 'Bearer realm="foldgate admin"' },
  })
}

function bearerFrom(authorization = ''): string | undefined {
  return /^Bearer +([\x21-\x7e]{1,512})$/i.exec(authorization)?.[1]
}

/** Flagger sends no headers of one's own: its token stands in the URL, `http://any:TOKEN@host`, and comes as a password (RFC 7617). */
function passwordFrom(authorization = ''): string | undefined {
  const [, coded = ''] = /^Basic +([A-Za-z0-9+/=]{1,1024})$/i.exec(authorization) ?? []
  return /:([\x21-\x7e]{1,512})$/.exec(Buffer.from(coded, 'base64').toString('latin1'))?.[1]
}

function claimedName(header: string | undefined): string {
  return header !== undefined && /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/.test(header) ? header : 'loopback'
}

function isJson(contentType: string | undefined): boolean {
  return /^application\/json\s*(;|$)/i.test(contentType ?? '')
}
