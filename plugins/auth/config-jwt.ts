import type { JsonSchema } from '../schema.ts'
import { allAlgorithms, type JwsAlgorithm } from './algorithms.ts'

/** One verification key of the configuration. Exactly one of `jwk`, `pem`, `file` and `secretFile` says what it is. */
export interface StaticKey {
  readonly kid: string | null
  readonly alg: JwsAlgorithm
  readonly jwk: Readonly<Record<string, unknown>> | null
  readonly pem: string | null
  readonly file: string | null
  readonly secretFile: string | null
}

/** How claims become a principal. */
export interface ClaimNames {
  readonly idClaim: string
  readonly tenantClaim: string
  readonly tierClaim: string
  readonly scopeClaim: string | null
  readonly defaultTenant: string | null
  readonly defaultTier: string
}

/** Bearer tokens of one issuer (RFC 7519, RFC 8725). */
export interface JwtConfig extends ClaimNames {
  readonly issuer: string
  readonly audience: string | readonly string[]
  readonly jwksUrl: string | null
  readonly allowPlainHttp: boolean
  readonly keys: readonly StaticKey[]
  readonly algorithms: readonly JwsAlgorithm[]
  readonly rsaAlgorithm: JwsAlgorithm
  readonly typ: string | null
  readonly leewayMs: number
  readonly maxAgeMs: number
  readonly coolOffMs: number
  readonly timeoutMs: number
  readonly maxStaleMs: number | null
  readonly cacheMs: number
  readonly cacheEntries: number
}

const text = (description: string, fallback: string): JsonSchema => ({
  type: 'string',
  minLength: 1,
  maxLength: 256,
  default: fallback,
  description,
})
const whole = (minimum: number, fallback: number, description: string): JsonSchema => ({
  type: 'integer',
  minimum,
  maximum: 86_400_000,
  default: fallback,
  description,
})
const optional = (type: string, description: string): JsonSchema => ({
  type: [type, 'null'],
  default: null,
  description,
})

const staticKey: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['alg'],
  properties: {
    kid: optional('string', 'Key id that tokens name; null: the key is tried for every token of its algorithm.'),
    alg: { enum: [...allAlgorithms], description: 'The one algorithm that this key verifies, whatever a token says.' },
    jwk: optional('object', 'The public key as a JWK (RFC 7517).'),
    pem: optional('string', 'The public key or certificate as PEM.'),
    file: optional('string', 'A file with the public key as PEM or JWK.'),
    secretFile: optional(
      'string',
      'A file with the shared secret of an HS algorithm: its bytes, one trailing newline trimmed.',
    ),
  },
}

/** The schema of `auth.jwt`. */
export const jwtSchema: JsonSchema = {
  type: ['object', 'null'],
  default: null,
  description: 'Bearer tokens (RFC 7519) of one issuer; null: none are accepted.',
  additionalProperties: false,
  required: ['issuer', 'audience'],
  properties: {
    issuer: { type: 'string', minLength: 1, description: 'What the `iss` claim must be.' },
    audience: {
      type: ['string', 'array'],
      minLength: 1,
      minItems: 1,
      items: { type: 'string', minLength: 1 },
      description: 'One of these must be among the `aud` claim.',
    },
    jwksUrl: optional('string', 'Where the key set (RFC 7517 §5) is fetched from. https, or http to this machine.'),
    allowPlainHttp: { type: 'boolean', default: false, description: 'Lets `jwksUrl` be http to another machine.' },
    keys: { type: 'array', default: [], items: staticKey, description: 'Keys that are not fetched.' },
    algorithms: {
      type: 'array',
      minItems: 1,
      items: { enum: [...allAlgorithms] },
      default: [...allAlgorithms],
      description: 'Algorithms that any key may have.',
    },
    rsaAlgorithm: {
      enum: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
      default: 'RS256',
      description: 'The algorithm of fetched RSA keys that do not state one.',
    },
    typ: optional('string', 'What the `typ` header must be, such as `at+jwt` (RFC 9068); null: anything.'),
    leewayMs: whole(0, 30_000, 'How far clocks may differ, for `exp` and `nbf`, in milliseconds.'),
    maxAgeMs: whole(100, 5_000, 'A key that left the key set is refused after this many milliseconds at most.'),
    coolOffMs: whole(
      50,
      1_000,
      'Least time between two fetches for unknown keys, and after a failed one, in milliseconds.',
    ),
    timeoutMs: whole(50, 2_000, 'How long one fetch of the key set may take, in milliseconds.'),
    maxStaleMs: {
      type: ['integer', 'null'],
      minimum: 0,
      default: null,
      description: 'How long the last good key set serves while it cannot be fetched, in milliseconds; null: for ever.',
    },
    cacheMs: whole(0, 5_000, 'How long a verified token is remembered, at most until its `exp`, in milliseconds.'),
    cacheEntries: whole(1, 10_000, 'How many verified tokens are remembered.'),
    idClaim: text('The claim that names the caller; a token without it is refused.', 'sub'),
    tenantClaim: text('The claim that names the tenant. A dot reaches into an object claim.', 'tenant'),
    tierClaim: text('The claim that names the tier.', 'tier'),
    scopeClaim: optional('string', 'The claim with the scopes; null: the first of `scope`, `scopes`, `scp`.'),
    defaultTenant: optional(
      'string',
      'Tenant of tokens without a tenant claim; null: a tenant of its own, `sub:` and the caller id.',
    ),
    defaultTier: { type: 'string', default: '', description: 'Tier of tokens without a tier claim.' },
  },
}
