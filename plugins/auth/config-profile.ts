import type { JsonSchema } from '../schema.ts'

/** Where more about a caller is looked up. */
export interface ProfileConfig {
  readonly kind: 'static' | 'http' | 'redis'
  readonly entries: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly url: string | null
  readonly tokenFile: string | null
  readonly key: string
  readonly fields: readonly string[]
  readonly cacheMs: number
  readonly cacheEntries: number
  readonly timeoutMs: number
  readonly onFailure: 'refuse' | 'ignore'
}

/** The schema of `auth.profile`. */
export const profileSchema: JsonSchema = {
  type: ['object', 'null'],
  default: null,
  additionalProperties: false,
  required: ['kind'],
  description:
    'A lookup that adds to what a credential says: a document with `tier`, `scopes` and the `fields` named here. A caller without a document keeps what it has.',
  properties: {
    kind: { enum: ['static', 'http', 'redis'], description: 'A map in this file, an HTTP endpoint, or a Redis hash.' },
    entries: {
      type: 'object',
      default: {},
      additionalProperties: { type: 'object' },
      description: 'static: documents by `key`.',
    },
    url: {
      type: ['string', 'null'],
      default: null,
      description: 'http: asked with GET; `{id}` and `{tenant}` stand for the caller. 404 and 204 mean none.',
    },
    tokenFile: {
      type: ['string', 'null'],
      default: null,
      description: 'http: file with the bearer token to ask with, one trailing newline trimmed.',
    },
    key: {
      type: 'string',
      minLength: 1,
      default: '{id}',
      description:
        'static, redis: the key of a document, made of `{id}` and `{tenant}`; in both a `%` or `:` is percent-encoded.',
    },
    fields: {
      type: 'array',
      default: [],
      items: { type: 'string', minLength: 1 },
      description: 'Members of the document that become claims.',
    },
    cacheMs: {
      type: 'integer',
      minimum: 0,
      maximum: 86_400_000,
      default: 30_000,
      description: 'How long a document is remembered, in milliseconds.',
    },
    cacheEntries: {
      type: 'integer',
      minimum: 1,
      default: 10_000,
      description: 'How many documents are remembered.',
    },
    timeoutMs: {
      type: 'integer',
      minimum: 1,
      maximum: 60_000,
      default: 500,
      description: 'How long one lookup may take, in milliseconds.',
    },
    onFailure: {
      enum: ['refuse', 'ignore'],
      default: 'refuse',
      description: 'What becomes of a call whose lookup fails: 503, or on without the profile.',
    },
  },
}
