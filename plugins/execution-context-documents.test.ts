import { describe, expect, it } from 'vitest'
import { documentSchemas } from './execution-context-documents.ts'
import { createSchema, type JsonSchema } from './schema.ts'

/** Every schema inside a schema that describes an object or may be one, with its path. */
function objects(schema: unknown, path: string): [string, JsonSchema][] {
  if (schema === null || typeof schema !== 'object') return []
  const found = Object.entries(schema).flatMap(([key, value]) => objects(value, `${path}/${key}`))
  const { type } = schema as JsonSchema
  const mayBe = type === 'object' || (Array.isArray(type) && type.includes('object'))
  return mayBe ? [[path, schema as JsonSchema], ...found] : found
}

describe('documentSchemas', () => {
  it.each(Object.entries(documentSchemas))('%s compiles, has a title, and survives JSON', (_, schema) => {
    expect(schema['title']).toEqual(expect.any(String))
    expect(JSON.parse(JSON.stringify(schema))).toEqual(schema)
    expect(createSchema(schema).faults(null)).not.toEqual([])
  })

  it.each(Object.entries(documentSchemas))('%s lets no member through that it does not know', (name, schema) => {
    const open = objects(schema, name).filter(([path, each]) => {
      if (/\/steps\/items\/properties\/step$/.test(path)) return false
      const more = each['additionalProperties']
      const bounded = typeof more === 'object' && each['propertyNames'] && each['maxProperties']
      return more !== false && !bounded
    })
    expect(open.map(([path]) => path)).toEqual([])
  })

  it.each(Object.entries(documentSchemas))('%s bounds every text and list', (name, schema) => {
    const unbounded = (value: unknown, path: string): string[] => {
      if (value === null || typeof value !== 'object') return []
      const { type, maxLength, pattern, maxItems } = value as JsonSchema
      const has = (kind: string) => type === kind || (Array.isArray(type) && type.includes(kind))
      const free =
        (has('string') && maxLength === undefined && pattern === undefined) || (has('array') && maxItems === undefined)
      const inside = Object.entries(value).flatMap(([key, each]) => unbounded(each, `${path}/${key}`))
      return free && !path.includes('/then/') ? [path, ...inside] : inside
    }
    expect(unbounded(schema, name)).toEqual([])
  })
})
