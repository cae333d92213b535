import { decodeProtectedHeader, errors, type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose'
import { isPublicAlgorithm } from './algorithms.ts'
import type { JwtConfig } from './config-jwt.ts'
import type { FetchedKeys } from './jwks.ts'
import type { VerificationKey } from './keys.ts'
import type { RefusalReason } from './rule.ts'

/** What a token turned out to be: its claims, or why it is refused. */
export type Verified = { readonly claims: JWTPayload } | { readonly refused: RefusalReason }

/** What tokens are verified with. */
export interface TokenKeys {
  readonly fixed: readonly VerificationKey[]
  readonly fetched: FetchedKeys | undefined
}

/** Most keys that one token is tried against. */
const maxTries = 8

/**
 * Verifies a token (RFC 7519 §7.2) at an instant in milliseconds. The key decides the algorithm; the header's `jwk`, `jku`, `x5u` and
 * `x5c` are never looked at. A token that fits no key asks the issuer once more for its keys, within the cool-off.
 */
export async function verifyToken(token: string, now: number, rule: TokenRule): Promise<Verified> {
  const { fetched } = rule.keys
  const first = await tryKeys(token, now, rule)
  if ('claims' in first || !fetched || !retriable(first.refused)) return first
  const { version } = fetched
  await fetched.renew()
  return fetched.version === version ? first : tryKeys(token, now, rule)
}

/** The configuration and the keys of one issuer. */
export interface TokenRule {
  readonly config: JwtConfig
  readonly keys: TokenKeys
}

// A bad signature may come from a new key under an old id.
const retriable = (reason: RefusalReason): boolean => reason === 'unknown-key' || reason === 'signature'

async function tryKeys(token: string, now: number, { config, keys }: TokenRule): Promise<Verified> {
  const header = headerOf(token)
  if (!header) return { refused: 'malformed' }
  const fetched = isPublicAlgorithm(header.alg) && keys.fetched?.usable ? keys.fetched.keys : []
  const candidates = [...keys.fixed, ...fetched].filter((key) => fits(key, header)).slice(0, maxTries)
  let refused: RefusalReason = isPublicAlgorithm(header.alg) ? 'unknown-key' : 'algorithm'
  if (!config.algorithms.includes(header.alg as never)) return { refused: 'algorithm' }
  for (const { key, algorithms } of candidates) {
    try {
      const options = optionsAt(now, config)
      const { payload } = await jwtVerify(token, key, { ...options, algorithms: [...algorithms] })
      return Number.isFinite(payload.exp) ? { claims: payload } : { refused: 'claims' }
    } catch (reason) {
      refused = reasonOf(reason)
      if (refused !== 'signature') break
    }
  }
  return { refused }
}

function headerOf(token: string): { alg: unknown; kid: unknown } | undefined {
  try {
    const { alg, kid } = decodeProtectedHeader(token)
    return { alg, kid }
  } catch {
    return undefined
  }
}

function fits(key: VerificationKey, header: { alg: unknown; kid: unknown }): boolean {
  if (!(key.algorithms as readonly unknown[]).includes(header.alg)) return false
  return header.kid === undefined || key.kid === undefined || key.kid === header.kid
}

function optionsAt(now: number, config: JwtConfig): JWTVerifyOptions {
  return {
    issuer: config.issuer,
    audience: typeof config.audience === 'string' ? config.audience : [...config.audience],
    clockTolerance: config.leewayMs / 1000,
    currentDate: new Date(now),
    requiredClaims: ['exp'],
    ...(config.typ === null ? {} : { typ: config.typ }),
  }
}

function reasonOf(reason: unknown): RefusalReason {
  if (reason instanceof errors.JWSSignatureVerificationFailed) return 'signature'
  if (reason instanceof errors.JWTExpired) return 'expired'
  if (reason instanceof errors.JWTClaimValidationFailed) return 'claims'
  return 'malformed'
}
