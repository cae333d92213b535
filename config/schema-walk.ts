import type { JsonSchema } from '../plugins/schema.ts'

/** One place in a schema, as a list of the schemas that speak about it: itself and what it refers to or combines. */
export type SchemaPlace = readonly JsonSchema[]

/** How deep references and combinations are followed before they count as circular. */
const maxDepth = 16

/** The place where a schema begins. */
export function placeFromSchema(root: JsonSchema): SchemaPlace {
  return expanded(root, root, 0)
}

/** The place one step further in: a member by its exact name, or an item of a list. Empty when there is none. */
export function stepInto(root: JsonSchema, place: SchemaPlace, key: string): SchemaPlace {
  return place.flatMap((schema) => {
    const inner = /^\d+$/.test(key) && allows(schema, 'array') ? schema['items'] : memberSchema(schema, key)
    return isSchema(inner) ? expanded(root, inner, 0) : []
  })
}

/** Names of the members that a place declares. */
export function memberNames(place: SchemaPlace): string[] {
  return [...new Set(place.flatMap((schema) => Object.keys(schema['properties'] ?? {})))]
}

/** Whether a place takes members of any name. */
export function takesAnyMember(place: SchemaPlace): boolean {
  return place.some((schema) => isSchema(schema['additionalProperties']) || schema['additionalProperties'] === true)
}

/** The JSON types that a place accepts, as far as it says. */
export function typesAt(place: SchemaPlace): ReadonlySet<string> {
  return new Set(place.flatMap(typesOf))
}

function memberSchema(schema: JsonSchema, key: string): unknown {
  const properties = schema['properties'] ?? {}
  return Object.hasOwn(properties, key) ? properties[key] : schema['additionalProperties']
}

function typesOf(schema: JsonSchema): string[] {
  if (schema['type'] !== undefined) return [schema['type']].flat()
  const values = 'const' in schema ? [schema['const']] : ((schema['enum'] ?? []) as unknown[])
  return values.map((value) => (value === null ? 'null' : typeof value))
}

const allows = (schema: JsonSchema, type: string): boolean => typesOf(schema).includes(type)

const isSchema = (value: unknown): value is JsonSchema => typeof value === 'object' && value !== null

function expanded(root: JsonSchema, schema: JsonSchema, depth: number): JsonSchema[] {
  if (depth > maxDepth) return []
  const parts = ['anyOf', 'oneOf', 'allOf'].flatMap((word) => (schema[word] ?? []) as JsonSchema[])
  const target = typeof schema['$ref'] === 'string' ? resolved(root, schema['$ref']) : undefined
  const further = [...parts, ...(target ? [target] : []), ...[schema['then'], schema['else']].filter(isSchema)]
  return [schema, ...further.flatMap((part) => expanded(root, part, depth + 1))]
}

function resolved(root: JsonSchema, reference: string): JsonSchema | undefined {
  let at: unknown = root
  for (const step of reference.split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    at = isSchema(at) && Object.hasOwn(at, key) ? (at as Record<string, unknown>)[key] : undefined
  }
  return isSchema(at) ? at : undefined
}
