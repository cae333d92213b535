import type { JsonSchema } from '../schema.ts'

/** An object with these members and no others. */
export const object = (
  description: string,
  properties: Record<string, JsonSchema>,
  required: string[] = [],
): JsonSchema => ({
  type: 'object',
  description,
  additionalProperties: false,
  required,
  properties,
})
/** What the schema says, or null, which is the default. */
export const orNull = (schema: JsonSchema): JsonSchema => ({ ...schema, type: [schema['type'], 'null'], default: null })
/** A text. */
export const text = (description: string, more: JsonSchema = {}): JsonSchema => ({
  type: 'string',
  description,
  ...more,
})
/** True or false, with its default. */
export const flag = (description: string, value: boolean): JsonSchema => ({
  type: 'boolean',
  description,
  default: value,
})
/** One of a few values, with the default if there is one. */
export const oneOf = (description: string, values: readonly string[], value?: string): JsonSchema => ({
  description,
  enum: values,
  ...(value === undefined ? {} : { default: value }),
})
/** A whole number: lowest, highest, default. */
export const count = (description: string, [low, high, value]: [number, number, number]): JsonSchema => ({
  type: 'integer',
  description,
  minimum: low,
  maximum: high,
  default: value,
})
/** A number from 0 to 1. */
export const share = (description: string, value?: number): JsonSchema => ({
  type: 'number',
  description,
  minimum: 0,
  maximum: 1,
  ...(value === undefined ? {} : { default: value }),
})
/** A list, empty by default. */
export const list = (description: string, items: JsonSchema, maxItems = 1_000): JsonSchema => ({
  type: 'array',
  description,
  items,
  maxItems,
  default: [],
})
/** A list of phrases. */
export const phrases = (description: string): JsonSchema =>
  list(description, { type: 'string', minLength: 1, maxLength: 1_024 }, 10_000)
