import { gatewayError } from '../errors.ts'
import { createSchema, type JsonSchema } from '../schema.ts'
import { type AskedConfig, askedLimit } from './asked.ts'
import { most, type RateLimitConfig, rateLimitConfig } from './config.ts'
import { type Limit, limitsFromConfig } from './limits.ts'

/** The configuration made portable: the limits as configured, and what a call's caller asks beside. */
export interface RateLimitStep extends RateLimitConfig {
  /** Declared names that key fields begin with, sorted: paths read them in facts only. */
  readonly declared: readonly string[]
  /** What the caller of a call asks of the limits; empty in a policy. */
  readonly asked: readonly AskedConfig[]
}

const { limits, tiers, cutStreams, leaseMs } = rateLimitConfig.json['properties'] as Record<string, JsonSchema>
const amount: JsonSchema = { type: 'integer', minimum: 1, maximum: most }

/** The schema of a step. Every member of it is there; amounts that are not limited are left out. */
export const rateLimitStep = createSchema<RateLimitStep>({
  type: 'object',
  description: 'How much a caller may.',
  additionalProperties: false,
  required: ['limits', 'tiers', 'cutStreams', 'leaseMs', 'declared', 'asked'],
  properties: {
    limits: { ...limits, items: { ...limits?.['items'], required: ['key_fields', 'tiers'] } },
    tiers,
    cutStreams,
    leaseMs,
    declared: {
      description: 'Names of claims that key fields begin with, sorted',
      type: 'array',
      uniqueItems: true,
      items: { type: 'string', minLength: 1, maxLength: 256 },
    },
    asked: {
      description: 'What the caller of one call asks: buckets of their own, beside those of the limit named',
      type: 'array',
      maxItems: 2,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['limit'],
        properties: {
          limit: { type: 'string', minLength: 1, maxLength: 80 },
          tokens_per_minute: amount,
          burst_capacity: amount,
          requests_per_minute: amount,
        },
      },
    },
  },
})

/** The limits of a step: those of the configuration, and after them what is asked. Throws `config_invalid` with paths inside the step. */
export function limitsFromStep(step: RateLimitStep): readonly Limit[] {
  const configured = limitsFromConfig(step, new Set(step.declared))
  const asked = step.asked.flatMap((each, index) => {
    const own = configured.find(({ name }) => name === each.limit)
    if (!own) throw unknownLimit(`asked[${index}].limit`)
    return askedLimit(own, each) ?? []
  })
  return [...configured, ...asked]
}

function unknownLimit(field: string) {
  const message = 'names no limit'
  return gatewayError('config_invalid', `${field}: ${message}`, { field, faults: [{ path: field, message }] })
}
