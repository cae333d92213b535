import { clientSchema } from '../client-schema.ts'
import type { Directives } from '../directives.ts'
import { type GatewayError, gatewayError, gatewayErrorFrom } from '../errors.ts'
import { compilePath, type Path } from '../path.ts'
import { createSchema, type JsonSchema } from '../schema.ts'
import { type CacheConfig, cacheConfig, type HashField, hashFieldSchema } from './config.ts'
import { claimOf, claimsOf, pathOf } from './fact-names.ts'
import { samePath } from './rule-from-config.ts'
import type { Added, CacheStep } from './step.ts'

/** What a caller may say of the cache. */
interface Asked {
  readonly ttl_seconds?: number
  readonly input_hash_fields?: readonly HashField[]
  readonly preprocess_hooks?: CacheConfig['preprocess_hooks']
  readonly cache_strategy?: CacheConfig['cache_strategy']
  readonly output_validation?: { readonly json_schema?: JsonSchema; readonly quality_score?: { readonly min: number } }
}

const own = cacheConfig.json['properties'] as Record<'ttl_seconds' | 'preprocess_hooks' | 'cache_strategy', JsonSchema>
const asks = createSchema<Asked>({
  type: 'object',
  additionalProperties: false,
  properties: {
    ttl_seconds: own.ttl_seconds,
    input_hash_fields: { type: 'array', maxItems: 16, items: hashFieldSchema },
    preprocess_hooks: { ...own.preprocess_hooks, maxItems: 16 },
    cache_strategy: own.cache_strategy,
    output_validation: {
      type: 'object',
      additionalProperties: false,
      properties: {
        json_schema: { type: 'object' },
        quality_score: {
          type: 'object',
          required: ['min'],
          additionalProperties: false,
          properties: { min: { type: 'number', minimum: 0, maximum: 1 } },
        },
      },
    },
  },
})

/**
 * The step under `execution_context.cache`: a shorter time to live, further fields of the key (at most 16; with the precisions and claims
 * that the operator's fields use), the deterministic strategy, a further schema, a higher least score. A hook changes nothing: it may only
 * be named where the operator has it for that very field. Throws `invalid_request` with the path of what is wrong or would loosen.
 */
export function tighten(step: CacheStep, { cache }: Pick<Directives, 'cache'>): CacheStep {
  if (cache === undefined) return step
  const [fault] = asks.faults(cache)
  if (fault) throw wrong(fault.path, fault.message)
  const asked = cache as Asked
  const { ttl_seconds = step.ttl_seconds, cache_strategy = step.cache_strategy } = asked
  if (ttl_seconds > step.ttl_seconds) throw wrong('ttl_seconds', `must be at most ${step.ttl_seconds}`)
  if (cache_strategy === 'any' && step.cache_strategy !== 'any')
    throw wrong('cache_strategy', 'must be "deterministic"')
  checkHooks(step, asked)
  const added: Added = { ...fieldsOf(step, asked), ...validationOf(step, asked) }
  const more = Object.keys(added).length > 0
  if (!more && ttl_seconds === step.ttl_seconds && cache_strategy === step.cache_strategy) return step
  return { ...step, ttl_seconds, cache_strategy, ...(more ? { added } : {}) }
}

function fieldsOf(step: CacheStep, { input_hash_fields = [] }: Asked): Pick<Added, 'input_hash_fields'> {
  const precisions = new Set((step.input_hash_fields ?? []).map((field) => precisionOf(field)))
  const claimed = claimsOf(step)
  for (const [index, field] of input_hash_fields.entries()) {
    const at = `input_hash_fields[${index}]`
    const precision = precisionOf(field)
    if (precision !== undefined && !precisions.has(precision)) throw wrong(`${at}.precision`, 'is not one in use')
    const path = pathAt(step, pathOf(field), at)
    const claim = claimOf(path.text, new Set(step.declared))
    if (claim !== undefined && !claimed.includes(claim)) throw wrong(at, 'names a fact that is not in use')
  }
  return input_hash_fields.length > 0 ? { input_hash_fields } : {}
}

function precisionOf(field: HashField): string | undefined {
  return typeof field === 'string' ? undefined : field.precision
}

function checkHooks(step: CacheStep, { preprocess_hooks = [] }: Asked): void {
  for (const [index, use] of preprocess_hooks.entries()) {
    const at = `preprocess_hooks[${index}]`
    const path = pathAt(step, use.field, `${at}.field`)
    const has = step.preprocess_hooks.some(
      (each) => each.function === use.function && samePath(pathAt(step, each.field, at), path),
    )
    if (!has) throw wrong(`${at}.function`, 'is not one that this field has')
  }
}

function pathAt({ declared }: CacheStep, text: string, at: string): Path {
  try {
    return compilePath(text, new Set(declared))
  } catch (reason) {
    throw wrong(at, gatewayErrorFrom(reason).message)
  }
}

function validationOf(step: CacheStep, { output_validation = {} }: Asked): Omit<Added, 'input_hash_fields'> {
  const { json_schema, quality_score } = output_validation
  if (json_schema) checkSchema(json_schema)
  const scored = step.output_validation?.quality_score
  const at = 'output_validation.quality_score'
  if (quality_score && !scored) throw wrong(at, 'needs a scorer, and there is none')
  if (quality_score && scored && quality_score.min < scored.min)
    throw wrong(`${at}.min`, `must be at least ${scored.min}`)
  const raised = quality_score && scored && quality_score.min > scored.min
  return { ...(json_schema ? { json_schema } : {}), ...(raised ? { min: quality_score.min } : {}) }
}

function checkSchema(schema: JsonSchema): void {
  const at = 'output_validation.json_schema'
  try {
    clientSchema(schema, at)
  } catch (reason) {
    const { message, detail } = gatewayErrorFrom(reason)
    throw gatewayError('invalid_request', `execution_context.cache.${message}`, {
      field: `execution_context.cache.${detail.field ?? at}`,
    })
  }
}

function wrong(path: string, message: string): GatewayError {
  const field = path ? `execution_context.cache.${path}` : 'execution_context.cache'
  return gatewayError('invalid_request', `${field}: ${message}`, { field })
}
