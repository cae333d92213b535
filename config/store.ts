import { createSchema } from '../plugins/schema.ts'

/** The `store` section: where shared state lives. */
export interface StoreConfig {
  readonly kind: 'embedded' | 'redis'
  readonly maxBytes: number
  readonly url?: string
  readonly sentinel?: { readonly name: string; readonly urls: readonly string[] }
  readonly cluster?: readonly string[]
  readonly onLoss: 'open' | 'closed' | 'local'
  readonly commandTimeoutMs: number
  readonly connectTimeoutMs: number
  readonly tls?: { readonly ca?: string; readonly servername?: string }
}

const url = { type: 'string', pattern: '^rediss?://' }
const urls = { type: 'array', minItems: 1, items: url }

const properties = {
  kind: {
    description: 'embedded keeps state in this process; redis shares it between replicas',
    enum: ['embedded', 'redis'],
    default: 'embedded',
  },
  maxBytes: {
    description:
      'How many bytes of values the embedded store (or, while Redis is away, its stand-in) keeps; the least recently used go',
    type: 'integer',
    minimum: 1_048_576,
    default: 268_435_456,
  },
  url: {
    ...url,
    description:
      'redis:// or rediss:// (TLS), with user, password and database. Beside sentinel it only gives user, password, database and TLS of the master',
  },
  sentinel: {
    description: 'Ask these sentinels for the master that they know under this name',
    type: 'object',
    additionalProperties: false,
    required: ['name', 'urls'],
    properties: {
      name: { type: 'string', minLength: 1, description: 'The name of the master group' },
      urls: { ...urls, description: 'The sentinels, with the password they ask for, if any' },
    },
  },
  cluster: { ...urls, description: 'Some nodes of a Redis Cluster; user, password and TLS are those of the first' },
  onLoss: {
    description:
      'What happens while Redis does not answer: open lets calls pass unlimited, closed refuses them with 503, local goes on over the memory of this process',
    enum: ['open', 'closed', 'local'],
    default: 'local',
  },
  commandTimeoutMs: {
    description: 'A command that takes longer counts as lost, and Redis as down for one second; in milliseconds',
    type: 'integer',
    minimum: 5,
    maximum: 10_000,
    default: 150,
  },
  connectTimeoutMs: {
    description: 'How long one attempt to connect may take, in milliseconds',
    type: 'integer',
    minimum: 50,
    maximum: 30_000,
    default: 1_000,
  },
  tls: {
    description: 'Only for rediss:// URLs',
    type: 'object',
    additionalProperties: false,
    properties: {
      ca: { type: 'string', minLength: 1, description: 'Certificates to trust, as PEM text; usually ${file:…}' },
      servername: { type: 'string', minLength: 1, description: 'The name the certificate must carry' },
    },
  },
} as const

/** The shape of the `store` section, with its defaults. */
export const storeSchema = createSchema<StoreConfig>({
  type: 'object',
  description: 'Where limits, cached answers and evidence are kept',
  additionalProperties: false,
  properties,
  if: { properties: { kind: { const: 'redis' } }, required: ['kind'] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { anyOf: [{ required: ['url'] }, { required: ['sentinel'] }, { required: ['cluster'] }] },
})
