import type { Principal } from '../call.ts'
import { type GatewayError, gatewayError } from '../errors.ts'
import { createLru } from '../lru.ts'
import type { JwtConfig } from './config-jwt.ts'
import { createFetchedKeys, type JwksHost } from './jwks.ts'
import type { VerificationKey } from './keys.ts'
import { principalFromClaims, type RefusalReason, unauthenticated } from './rule.ts'
import { type TokenRule, verifyToken } from './token.ts'

/** Who a call is from, or why it is refused. */
export type Identity = Principal | GatewayError

/** Verifies tokens, and remembers the ones it has verified. */
export interface Tokens {
  /** `hash` is the SHA-256 of the token; a token that is remembered is answered at once, without a promise. */
  identify(token: string, hash: string, now: number): Identity | Promise<Identity>
  close(): void
}

/** What tokens are held to: the settings, the keys that are not fetched, and the claims that are handed on. */
export interface TokensInit {
  readonly config: JwtConfig
  readonly fixed: readonly VerificationKey[]
  readonly fields: readonly string[]
}

interface Remembered {
  readonly principal: Principal
  /** Milliseconds since the epoch. */
  readonly until: number
}

/** Makes {@link Tokens}. What is remembered is forgotten when the key set changes. */
export function createTokens({ config, fixed, fields }: TokensInit, host: JwksHost): Tokens {
  const remembered = createLru<Remembered>(config.cacheEntries)
  const { jwksUrl } = config
  const fetched = jwksUrl === null ? undefined : createFetchedKeys({ ...config, jwksUrl }, host, remembered.clear)
  const rule: TokenRule = { config, keys: { fixed, fetched } }

  const verify = async (token: string, hash: string, now: number): Promise<Identity> => {
    const version = fetched?.version
    const verified = await verifyToken(token, now, rule)
    if ('refused' in verified) return refusal(verified.refused, fetched?.usable ?? true, config)
    const principal = principalFromClaims(verified.claims, config, fields)
    if (!principal) return unauthenticated('no-principal')
    const until = Math.min((verified.claims.exp as number) * 1000, now + config.cacheMs)
    // A set that changed meanwhile may lack the key that this was verified with.
    if (until > now && fetched?.version === version) remembered.set(hash, { principal, until })
    return principal
  }
  const recall = (token: string, hash: string, now: number): Identity | Promise<Identity> => {
    const known = remembered.get(hash)
    const holds = known && now < known.until && known.until - now <= config.cacheMs
    return holds && (fetched?.usable ?? true) ? known.principal : verify(token, hash, now)
  }
  return {
    identify(token, hash, now) {
      const waiting = fetched?.ready()
      return waiting ? waiting.then(() => recall(token, hash, now)) : recall(token, hash, now)
    },
    close: () => fetched?.close(),
  }
}

/** Without keys nobody can say that a token is bad, so the caller is told to come again. */
function refusal(reason: RefusalReason, usable: boolean, config: JwtConfig): GatewayError {
  if (usable || reason !== 'unknown-key') return unauthenticated(reason)
  return gatewayError('auth_unavailable', 'the keys that tokens are verified with cannot be fetched', {
    retryAfterMs: config.coolOffMs,
  })
}
