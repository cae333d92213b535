import { createHash } from 'node:crypto'
import { Redis } from 'ioredis'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { errorAnswer, type Headers, type Service } from './exchange.ts'
import { placesOfProcess } from './places.ts'
import { runService } from './service.ts'

const rememberedMs = 5000
const mostRemembered = 10_000
const requiredScope = 'inference'

interface Caller {
  readonly id: string
  readonly tenant: string
  readonly tier: string
  readonly scopes: readonly string[]
  /** When it has to be looked up again, in milliseconds since 1970. */
  readonly until: number
}

const places = placesOfProcess()
const redis = new Redis(places.redis, { enableAutoPipelining: true })
const keys = createRemoteJWKSet(new URL(places.jwks))
const callers = new Map<string, Caller>()

/** Who is calling: a token verified with the key set of its issuer, its scopes and its profile from Redis, remembered for five seconds. */
const auth: Service<undefined> = {
  async request({ headers }) {
    const token = /^Bearer (\S+)$/i.exec(headers['authorization'] ?? '')?.[1]
    if (!token) return errorAnswer(401, 'a bearer token is required')
    const caller = await callerOf(token)
    if (!caller) return errorAnswer(401, 'the token is not valid')
    if (!caller.scopes.includes(requiredScope)) return errorAnswer(403, `the scope ${requiredScope} is required`)
    return { kind: 'pass', kept: undefined, headers: inside(headers, caller) }
  },
  healthy: () => redis.ping(),
  close: () => redis.quit(),
}

/** The credential stops here; who it belongs to goes on. */
function inside({ authorization: _, ...headers }: Headers, { id, tenant, tier, scopes }: Caller): Headers {
  return { ...headers, 'x-user': id, 'x-tenant': tenant, 'x-tier': tier, 'x-scopes': scopes.join(' ') }
}

async function callerOf(token: string): Promise<Caller | undefined> {
  const hash = createHash('sha256').update(token).digest('base64')
  const known = callers.get(hash)
  if (known && known.until > Date.now()) return known
  const caller = await lookedUp(token)
  if (!caller) return undefined
  if (callers.size >= mostRemembered) callers.delete(callers.keys().next().value as string)
  callers.set(hash, caller)
  return caller
}

async function lookedUp(token: string): Promise<Caller | undefined> {
  const { issuer, audience } = places
  const verified = await jwtVerify(token, keys, { issuer, audience, requiredClaims: ['sub', 'exp'] }).catch(
    () => undefined,
  )
  if (!verified) return undefined
  const { sub = '', exp = 0 } = verified.payload
  const [scopes, profile] = await Promise.all([redis.smembers(`scopes:${sub}`), redis.hgetall(`profile:${sub}`)])
  const until = Math.min(exp * 1000, Date.now() + rememberedMs)
  return { id: sub, tenant: profile['tenant'] ?? sub, tier: profile['tier'] ?? 'free', scopes, until }
}

runService(auth, places)
