import { createSchema, type JsonSchema } from '../schema.ts'
import type { Replacement } from './hooks.ts'
import { type Pin, pinSchema } from './pin.ts'
import { type Precision, precisionPattern } from './precision.ts'
import { type OutputValidation, outputValidationSchema } from './validation.ts'

/** One field of the key: a path, and how closely its values must agree. */
export type HashField = string | { readonly path: string; readonly precision?: Precision }

/** Settings of the cache layer. */
export interface CacheConfig {
  readonly ttl_seconds: number
  readonly input_hash_fields: readonly HashField[] | null
  readonly preprocess_hooks: readonly { readonly field: string; readonly function: string }[]
  readonly cache_strategy: 'any' | 'deterministic'
  readonly output_validation: OutputValidation | null
  readonly hooks: Readonly<Record<string, readonly Replacement[]>>
  readonly finishReasons: readonly string[]
  readonly maxBytes: number
  readonly maxEntryBytes: number
  readonly localTtlMs: number
  readonly coalesceWaitMs: number
  readonly clientHints: boolean
  readonly pinned: readonly Pin[]
  readonly importFile: string | null
}

const path: JsonSchema = { type: 'string', minLength: 1, maxLength: 256 }

/** The schema of {@link HashField}. */
export const hashFieldSchema: JsonSchema = {
  description: 'A path, or a path with a precision.',
  type: ['string', 'object'],
  minLength: 1,
  maxLength: 256,
  required: ['path'],
  additionalProperties: false,
  properties: {
    path: { ...path, description: 'Path into the body or the facts, such as messages[-1].content.' },
    precision: {
      type: 'string',
      pattern: precisionPattern,
      description:
        'How closely values must agree: int64, float64, decimal:N, string, string_trim, string_nfc, string_fold.',
    },
  },
}

const keyed: Record<string, JsonSchema> = {
  ttl_seconds: {
    type: 'integer',
    minimum: 0,
    maximum: 31_536_000,
    default: 300,
    description: 'How long an answer is kept, in seconds; 0 keeps none.',
  },
  input_hash_fields: {
    type: ['array', 'null'],
    default: null,
    minItems: 1,
    maxItems: 64,
    items: hashFieldSchema,
    description:
      'What of the input makes the key. Null: the whole body. Parameters that affect the output always count.',
  },
  preprocess_hooks: {
    type: 'array',
    default: [],
    maxItems: 64,
    description: 'Text changes before a field goes into the key; the model is asked what the caller wrote.',
    items: {
      type: 'object',
      required: ['field', 'function'],
      additionalProperties: false,
      properties: {
        field: { ...path, description: 'One of input_hash_fields, or any path of the body when there are none.' },
        function: {
          type: 'string',
          minLength: 1,
          description: 'normalize_numbers, normalize_whitespace, strip_trailing_punctuation, or a name of hooks.',
        },
      },
    },
  },
  cache_strategy: {
    enum: ['any', 'deterministic'],
    default: 'any',
    description: 'deterministic: only calls with temperature 0 or a seed. An absent temperature is absent, not 0.',
  },
}

const hooks: JsonSchema = {
  type: 'object',
  default: {},
  maxProperties: 64,
  description: 'Hooks of your own, by name: replacements that run in order.',
  additionalProperties: {
    type: 'array',
    minItems: 1,
    maxItems: 32,
    items: {
      type: 'object',
      required: ['pattern', 'replacement'],
      additionalProperties: false,
      properties: {
        pattern: { type: 'string', minLength: 1, maxLength: 1024, description: 'RE2 syntax; runs in linear time.' },
        replacement: {
          type: 'string',
          maxLength: 1024,
          description: 'What stands in its place; $1, $& as in JavaScript.',
        },
        ignoreCase: { type: 'boolean', description: 'Whether case is ignored; default false.' },
      },
    },
  },
}

const kept: Record<string, JsonSchema> = {
  finishReasons: {
    type: 'array',
    items: { type: 'string', minLength: 1 },
    default: ['stop', 'tool_calls', 'function_call'],
    description: 'An answer is stored only when each choice finished with one of these.',
  },
  maxBytes: {
    type: 'integer',
    minimum: 0,
    default: 268_435_456,
    description: 'Bytes of answers held in this process; the least recently used go first.',
  },
  maxEntryBytes: {
    type: 'integer',
    minimum: 1024,
    maximum: 67_108_864,
    default: 4_194_304,
    description: 'The longest answer that is stored, in bytes.',
  },
  localTtlMs: {
    type: 'integer',
    minimum: 0,
    maximum: 60_000,
    default: 1000,
    description:
      'With a shared store: how long this process answers from its own copy; a purge reaches it within that time.',
  },
  coalesceWaitMs: {
    type: 'integer',
    minimum: 0,
    maximum: 600_000,
    default: 15_000,
    description: 'How long a call waits for an identical one that is under way before it goes on by itself; 0: never.',
  },
  clientHints: {
    type: 'boolean',
    default: true,
    description: 'Whether callers may say cache-control and the cache-hint header.',
  },
}

/** The schema of {@link CacheConfig}. */
export const cacheConfig = createSchema<CacheConfig>({
  type: 'object',
  additionalProperties: false,
  properties: {
    ...keyed,
    output_validation: outputValidationSchema,
    hooks,
    ...kept,
    pinned: {
      type: 'array',
      default: [],
      maxItems: 10_000,
      items: pinSchema,
      description: 'Curated answers that are always given, never expire and are never purged.',
    },
    importFile: {
      type: ['string', 'null'],
      default: null,
      description: 'A file with one curated answer a line (JSON Lines), shaped like the items of pinned.',
    },
  },
})
