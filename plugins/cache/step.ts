import { createSchema, type JsonSchema, type Schema } from '../schema.ts'
import { type CacheConfig, cacheConfig, type HashField, hashFieldSchema } from './config.ts'
import { type Pin, pinSchema } from './pin.ts'

/** What a caller's directives add to the rule. */
export interface Added {
  /** Fields that tell calls apart beside the operator's. */
  readonly input_hash_fields?: readonly HashField[]
  /** A schema that the text of every choice must fit beside the operator's. */
  readonly json_schema?: JsonSchema
  /** Least score that is stored, in place of a lower one. */
  readonly min?: number
}

/** The rule as data: the settings, with the curated answers read in, and the names that only the gateway knows. */
export interface CacheStep extends Omit<CacheConfig, 'pinned' | 'importFile'> {
  /** The curated answers of the settings, then those of the file. */
  readonly pins: readonly Pin[]
  /** Names that paths resolve in facts only, sorted. */
  readonly declared: readonly string[]
  /** Prefix of our own headers, such as `x-`: the hint header stands under it. */
  readonly headerPrefix: string
  /** Only in a step that directives have tightened. */
  readonly added?: Added
}

/** The most bytes that a step may have as JSON where it is to be folded. */
export const maxStepBytes = 512 * 1024

const { pinned, importFile, ...settings } = cacheConfig.json['properties'] as Record<
  'pinned' | 'importFile',
  JsonSchema
>
const pins = { ...pinned, items: pinSchema, description: 'Curated answers, in the order in which they were read.' }

const added: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  description: 'What directives add. Never in a policy.',
  properties: {
    input_hash_fields: { type: 'array', items: hashFieldSchema, description: 'Further fields of the key.' },
    json_schema: { type: 'object', description: 'A further schema for what is stored.' },
    min: { type: 'number', minimum: 0, maximum: 1, description: 'A higher least score.' },
  },
}

/** The schema of {@link CacheStep}. */
export const cacheStep: Schema<CacheStep> = createSchema<CacheStep>({
  type: 'object',
  additionalProperties: false,
  required: [...Object.keys(settings), 'pins', 'declared', 'headerPrefix'],
  description: 'Whether a call was answered before: what makes its key, how long and which answers are kept.',
  properties: {
    ...settings,
    pins,
    declared: {
      type: 'array',
      items: { type: 'string' },
      description: 'Names that paths resolve in facts only, sorted.',
    },
    headerPrefix: {
      type: 'string',
      minLength: 1,
      maxLength: 64,
      description: 'Prefix of the headers that callers send, lower case, such as x-.',
    },
    added,
  },
})
