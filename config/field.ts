import type { JsonSchema } from '../plugins/schema.ts'

/** The longest a timer can be set for: 2³¹ − 1 milliseconds, almost 25 days. */
const longestTimerMs = 2_147_483_647

/** A closed section: its fields by name. A key that is not among them is a fault; left out, its defaults hold. */
export function section(description: string, properties: Record<string, JsonSchema>): JsonSchema {
  return { type: 'object', description, default: {}, properties, additionalProperties: false }
}

/** A closed entry of a list: some fields have to be there. */
export function entry(properties: Record<string, JsonSchema>, required: readonly string[]): JsonSchema {
  return { type: 'object', properties, required, additionalProperties: false }
}

/** A list, empty unless it is given. */
export function list(description: string, items: JsonSchema): JsonSchema {
  return { type: 'array', description, items, default: [], maxItems: 10_000 }
}

/** A duration in milliseconds, at least 1 unless `minimum` says otherwise. */
export function milliseconds(description: string, fallback: number, minimum = 1): JsonSchema {
  return { type: 'integer', description, default: fallback, minimum, maximum: longestTimerMs }
}

/** A whole number with a lower bound. */
export function integer(
  description: string,
  fallback: number,
  bounds: { minimum: number; maximum?: number },
): JsonSchema {
  return { type: 'integer', description, default: fallback, ...bounds }
}

/** A share between 0 and 1. */
export function ratio(description: string, fallback: number): JsonSchema {
  return { type: 'number', description, default: fallback, minimum: 0, maximum: 1 }
}

/** A text that is absent (null) unless it is given. */
export function optionalText(description: string): JsonSchema {
  return { type: ['string', 'null'], description, default: null, minLength: 1 }
}

/** A text that has to be given. */
export function text(description: string, pattern?: string): JsonSchema {
  return { type: 'string', description, minLength: 1, ...(pattern ? { pattern } : {}) }
}

/** One of a closed list of words. */
export function oneOf(description: string, words: readonly string[], fallback?: string): JsonSchema {
  return { type: 'string', description, enum: [...words], ...(fallback === undefined ? {} : { default: fallback }) }
}

/** The address to listen on. */
export function host(description: string): JsonSchema {
  return { type: 'string', description, default: '127.0.0.1', minLength: 1 }
}

/** A TCP port; 0 is any free one. */
export function port(description: string, fallback: number): JsonSchema {
  return { type: 'integer', description, default: fallback, minimum: 0, maximum: 65_535 }
}

/** Headers by name that are added to every call; their values are never shown. */
export function addedHeaders(): JsonSchema {
  return {
    type: 'object',
    description: 'Headers added to every call to it.',
    default: {},
    propertyNames: { pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" },
    additionalProperties: { type: 'string', pattern: '^[\\t\\x20-\\x7e]*$', writeOnly: true },
  }
}
