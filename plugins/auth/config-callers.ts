import type { JsonSchema } from '../schema.ts'

/** Who a configured credential stands for. */
export interface CallerConfig {
  readonly tenant: string
  readonly tier: string
  readonly scopes: readonly string[]
  readonly claims: Readonly<Record<string, unknown>>
}

/** One API key. Exactly one of `hash` and `hashFile` is set. */
export interface ApiKeyConfig extends CallerConfig {
  readonly id: string
  readonly hash: string | null
  readonly hashFile: string | null
}

/** One client certificate, by a name it bears. */
export interface CertificateConfig extends CallerConfig {
  readonly name: string
  readonly id: string | null
}

/** Headers in which a trusted hop names the caller. */
export interface TrustedHopConfig {
  readonly idHeader: string
  readonly tenantHeader: string | null
  readonly tierHeader: string | null
  readonly scopesHeader: string | null
  readonly claimHeaders: Readonly<Record<string, string>>
  readonly defaultTenant: string | null
  readonly certificates: readonly string[]
}

/** Who callers without a credential are. */
export interface AnonymousConfig {
  readonly id: string
  readonly tenant: string
  readonly tier: string
  readonly scopes: readonly string[]
}

/** The schema of a list of scopes (RFC 6749 §3.3). */
export const scopesSchema = (description: string): JsonSchema => ({
  type: 'array',
  default: [],
  items: { type: 'string', pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$' },
  description,
})

const name = (description: string): JsonSchema => ({ type: 'string', minLength: 1, maxLength: 256, description })
const maybe = (description: string): JsonSchema => ({
  type: ['string', 'null'],
  minLength: 1,
  default: null,
  description,
})
const token = '^[A-Za-z0-9!#$%&*+.^_|~-]+$'
const header = (description: string): JsonSchema => ({ ...maybe(description), pattern: token })

const caller: Record<string, JsonSchema> = {
  tenant: name('The tenant that the caller belongs to.'),
  tier: { type: 'string', default: '', description: 'The service tier, such as `free` or `vip`.' },
  scopes: scopesSchema('Scopes that the caller has.'),
  claims: { type: 'object', default: {}, description: 'Claims that the caller has.' },
}

/** The schema of `auth.apiKeys`. */
export const apiKeysSchema: JsonSchema = {
  type: 'array',
  default: [],
  description: 'API keys, known by their SHA-256 only. `foldgate key new` makes a key and its hash.',
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['id', 'tenant'],
    properties: {
      id: name('Name of the key; two keys may share it while one replaces the other.'),
      hash: maybe('SHA-256 of the key as hex.'),
      hashFile: maybe('File that holds the SHA-256 of the key as hex, one trailing newline trimmed.'),
      ...caller,
    },
  },
}

/** The schema of `auth.clientCertificates`. */
export const certificatesSchema: JsonSchema = {
  type: 'array',
  default: [],
  description: 'Callers known by a verified client certificate (mutual TLS).',
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['name', 'tenant'],
    properties: {
      name: name('The common name as `CN:…`, or a subject alternative name such as `URI:spiffe://…` or `DNS:…`.'),
      id: maybe('Id of the caller; null: the name.'),
      ...caller,
    },
  },
}

/** The schema of `auth.trustedHop`. */
export const trustedHopSchema: JsonSchema = {
  type: ['object', 'null'],
  default: null,
  additionalProperties: false,
  required: ['idHeader'],
  description:
    'Headers in which a hop in front names the caller. Believed only from `listen.trustedProxies` or from a listed certificate; that hop must remove them from what clients send. They go before any credential.',
  properties: {
    idHeader: { ...name('Header with the id of the caller.'), pattern: token },
    tenantHeader: header('Header with the tenant.'),
    tierHeader: header('Header with the tier.'),
    scopesHeader: header('Header with the scopes, spaces between.'),
    claimHeaders: {
      type: 'object',
      default: {},
      additionalProperties: { type: 'string', pattern: token },
      description: 'Claims by name, each with the header that holds it.',
    },
    defaultTenant: maybe('Tenant when no header says one; null: a tenant of its own, `sub:` and the caller id.'),
    certificates: {
      type: 'array',
      default: [],
      items: { type: 'string', minLength: 1 },
      description: 'Names of client certificates (`CN:…`, `URI:…`, `DNS:…`) whose hop is trusted from any address.',
    },
  },
}

/** The schema of `auth.anonymous`. */
export const anonymousSchema: JsonSchema = {
  type: ['boolean', 'object'],
  default: false,
  additionalProperties: false,
  description: 'Lets callers without any credential pass, all as one caller. A credential that is wrong stays refused.',
  properties: {
    id: { ...name('Id of such callers.'), default: 'anonymous' },
    tenant: { ...name('Tenant of such callers.'), default: 'anonymous' },
    tier: { type: 'string', default: '', description: 'Tier of such callers.' },
    scopes: scopesSchema('Scopes of such callers.'),
  },
}
