import { createSchema, type JsonSchema } from '../schema.ts'

/** How much a limit lets through. In a tier `null` lifts what the limit says. */
export interface AmountsConfig {
  readonly tokens_per_minute?: number | null
  readonly requests_per_minute?: number | null
  readonly burst_capacity?: number | null
  readonly request_burst_capacity?: number | null
  readonly concurrent?: number | null
}

/** One limit: for whom, and how much. */
export interface LimitConfig extends AmountsConfig {
  readonly name?: string
  readonly key_fields: readonly string[]
  readonly tiers: Readonly<Record<string, AmountsConfig>>
}

/** The settings of the rate-limit layer, defaults filled in. */
export interface RateLimitConfig {
  readonly limits: readonly LimitConfig[]
  readonly tiers: Readonly<Record<string, AmountsConfig>>
  readonly cutStreams: boolean
  readonly leaseMs: number
}

/** The largest amount: its arithmetic, in 60,000ths, stays exact in a double. */
export const most = 10_000_000_000

const amounts: Readonly<Record<keyof AmountsConfig, string>> = {
  tokens_per_minute: 'Tokens a minute, prompt and output together, that come back evenly',
  requests_per_minute: 'Requests a minute, that come back evenly',
  burst_capacity:
    'How much may be spent at once: tokens where tokens_per_minute is set, else requests. Default: what comes back in a minute',
  request_burst_capacity:
    'How many requests may be made at once where tokens are limited too. Default: requests_per_minute',
  concurrent: 'Calls that may be under way at once',
}

function amountsSchema(types: string | readonly string[]): Record<string, JsonSchema> {
  const entries = Object.entries(amounts).map(([name, description]) => [
    name,
    { description, type: types, minimum: 1, maximum: most },
  ])
  return Object.fromEntries(entries)
}

const tiers = (description: string): JsonSchema => ({
  description,
  type: 'object',
  default: {},
  additionalProperties: {
    type: 'object',
    additionalProperties: false,
    properties: amountsSchema(['integer', 'null']),
  },
})

const limit: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    name: {
      description: 'How the limit is called in headers, errors and keys. Default: its key fields',
      type: 'string',
      pattern: '^[A-Za-z0-9_.-]{1,64}$',
    },
    key_fields: {
      description:
        'Facts that share one count (tenant, id, tier, client_ip, declared claims); empty: everybody together. A value of the body only as body.…, since the caller chooses it',
      type: 'array',
      maxItems: 8,
      uniqueItems: true,
      items: { type: 'string', minLength: 1, maxLength: 256 },
      default: ['tenant'],
    },
    ...amountsSchema('integer'),
    tiers: tiers('Other amounts of this limit for callers of a tier, by its name'),
  },
}

/** The shape of `layers.rate-limit`. */
export const rateLimitConfig = createSchema<RateLimitConfig>({
  type: 'object',
  description: 'How much a caller may.',
  additionalProperties: false,
  required: ['limits'],
  properties: {
    limits: {
      description: 'A call must fit into every one of them',
      type: 'array',
      minItems: 1,
      maxItems: 32,
      items: limit,
    },
    tiers: tiers(
      'Other amounts for callers of a tier, by its name. Each replaces that amount in the limits that have it; one that no limit has is added to the first',
    ),
    cutStreams: {
      description:
        'End a stream with an error once its output has used up what the limits leave, instead of running into debt',
      type: 'boolean',
      default: false,
    },
    leaseMs: {
      description:
        'How long a call counts as under way without being renewed, so that a crashed replica frees its calls; in milliseconds',
      type: 'integer',
      minimum: 1_000,
      maximum: 600_000,
      default: 30_000,
    },
  },
})
