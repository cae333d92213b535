import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { clientSchema, keptSchemas, schemaLimits } from './client-schema.ts'
import { GatewayError } from './errors.ts'

const refused = (schema: unknown): GatewayError => {
  try {
    clientSchema(schema)
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
  throw new Error('the schema was accepted')
}
const fits = (schema: unknown, value: unknown): boolean => clientSchema(schema).faults(value).length === 0

test.each([
  ['2020-12', { $schema: 'https://json-schema.org/draft/2020-12/schema', prefixItems: [{ type: 'integer' }] }],
  ['2019-09', { $schema: 'https://json-schema.org/draft/2019-09/schema', items: [{ type: 'integer' }] }],
  ['draft-07', { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'integer' }] }],
  ['draft-06', { $schema: 'http://json-schema.org/draft-06/schema', items: [{ type: 'integer' }] }],
  ['none, in new forms', { prefixItems: [{ type: 'integer' }] }],
  ['none, in old forms', { items: [{ type: 'integer' }], additionalItems: false }],
])('the draft is picked by $schema: %s', (_name, schema) => {
  expect(fits(schema, [1])).toBe(true)
  expect(fits(schema, ['x'])).toBe(false)
})

test('draft 04 with its flags for exclusive bounds is held to', () => {
  const schema = {
    $schema: 'http://json-schema.org/draft-04/schema#',
    id: 'http://a/b',
    minimum: 3,
    exclusiveMinimum: true,
  }
  expect(fits(schema, 3)).toBe(false)
  expect(fits(schema, 4)).toBe(true)
  expect(fits({ minimum: 3, exclusiveMinimum: false }, 3)).toBe(true)
})

test('a draft nobody knows is refused with the path of $schema', () => {
  expect(refused({ $schema: 'https://example.com/mine' }).detail.field).toBe(
    'response_format.json_schema.schema.$schema',
  )
})

test('date-time is enforced, and unknown formats and vendor keywords say nothing', () => {
  expect(fits({ format: 'date-time' }, '2026-02-30T00:00:00Z')).toBe(false)
  expect(fits({ format: 'date-time' }, '2026-02-28T00:00:00Z')).toBe(true)
  expect(fits({ type: ['string', 'null'], format: 'martian', 'x-order': 1 }, 'x')).toBe(true)
  expect(fits({ format: 'email' }, `${'a'.repeat(5000)}@x.com`)).toBe(false)
})

test('faults say where and what', () => {
  const schema = { type: 'object', properties: { a: { items: { type: 'string' } } } }
  expect(clientSchema(schema).faults({ a: ['x', 1] })).toEqual([{ path: 'a[1]', message: 'must be string' }])
})

test.each([
  [{ properties: { a: { type: 'strin' } } }, 'properties.a.type'],
  [{ properties: { a: { pattern: '(' } } }, 'properties.a.pattern'],
  [{ properties: { a: { pattern: '(?=x)' } } }, 'properties.a.pattern'],
  [{ patternProperties: { '(?!x)': {} } }, 'patternProperties.(?!x)'],
  [{ allOf: [{ $ref: '#/$defs/none' }] }, 'allOf[0].$ref'],
  [{ properties: { a: { $ref: 'file:///etc/passwd' } } }, 'properties.a.$ref'],
  [{ $ref: 'http://json-schema.org/draft-07/schema#' }, '$ref'],
])('a schema that is itself wrong is refused with its path: %j', (schema, path) => {
  const error = refused(schema)
  expect(error.code).toBe('invalid_schema')
  expect(error.status).toBe(400)
  expect(error.detail.field).toBe(`response_format.json_schema.schema.${path}`)
})

test.each([undefined, null, 'x', 1, []])('what is no schema at all is refused: %j', (schema) => {
  expect(refused(schema).detail.field).toBe('response_format.json_schema.schema')
})

test('nothing is ever fetched for a $ref', async () => {
  let asked = 0
  const server = createServer((_request, response) => {
    asked++
    response.end('{}')
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  refused({ $ref: `http://127.0.0.1:${port}/schema.json` })
  refused({ $id: `http://127.0.0.1:${port}/a`, properties: { x: { $ref: '/b' } } })
  expect(await fetch(`http://127.0.0.1:${port}/`).then((answer) => answer.status)).toBe(200)
  server.close()
  expect(asked).toBe(1)
})

test('recursion is fine, and recursion without end is a fault', () => {
  const tree = {
    $defs: { node: { properties: { kids: { items: { $ref: '#/$defs/node' } } }, type: 'object' } },
    $ref: '#/$defs/node',
  }
  expect(fits(tree, { kids: [{ kids: [{}] }] })).toBe(true)
  expect(fits(tree, { kids: [{ kids: [1] }] })).toBe(false)
  expect(clientSchema({ $ref: '#' }).faults(1)).toHaveLength(1)
})

test('alternatives that double at every level stop at a bound', () => {
  const inside = { properties: { x: { $ref: '#/$defs/a' } }, type: 'object' }
  const schema = { $defs: { a: { anyOf: [inside, { ...inside, minProperties: 0 }] } }, $ref: '#/$defs/a' }
  let value: unknown = 1
  for (let level = 0; level < 60; level++) value = { x: value }
  expect(clientSchema(schema).faults(value)).toEqual([{ path: '', message: 'takes too many steps to check' }])
})

test.each([
  ['depth', Array.from({ length: 5000 }).reduce<object>((inner) => ({ not: inner }), {})],
  ['branches', { anyOf: Array.from({ length: 10_000 }, () => ({})) }],
  ['enum', { enum: Array.from({ length: schemaLimits.enum + 1 }, (_, i) => i) }],
  ['nodes', { properties: Object.fromEntries(Array.from({ length: 5001 }, (_, i) => [`p${i}`, true])) }],
  ['bytes', { description: 'x'.repeat(schemaLimits.bytes) }],
  ['pattern', { pattern: 'x'.repeat(schemaLimits.pattern + 1) }],
])('a schema beyond the limit of %s is refused', (_name, schema) => {
  expect(refused(schema).code).toBe('invalid_schema')
})

test('a pattern that would backtrack for ever takes linear time', () => {
  const schema = clientSchema({ type: 'string', pattern: '^(a+)+$' })
  const start = performance.now()
  expect(schema.faults(`${'a'.repeat(100_000)}!`)).toHaveLength(1)
  expect(performance.now() - start).toBeLessThan(1000)
})

test('unique items of many objects are told apart in linear time', () => {
  const items = Array.from({ length: 20_000 }, (_, i) => ({ i, more: [i] }))
  const start = performance.now()
  expect(fits({ uniqueItems: true }, items)).toBe(true)
  expect(fits({ uniqueItems: true }, [...items, { more: [7], i: 7 }])).toBe(false)
  expect(performance.now() - start).toBeLessThan(2000)
})

test('equal schemas share one check, and what is kept has a bound', () => {
  const make = (i: number) => ({ type: 'object', properties: { k: { const: i } } })
  expect(clientSchema(make(0))).toBe(clientSchema(make(0)))
  for (let i = 0; i < 300; i++) clientSchema(make(i))
  expect(keptSchemas()).toBe(256)
})

test('two schemas with one $id do not meet', () => {
  const a = clientSchema({ $id: 'https://acme.test/out', type: 'string' })
  const b = clientSchema({ $id: 'https://acme.test/out', type: 'number' })
  expect([a.faults('x'), b.faults(1)]).toEqual([[], []])
  expect(b.faults('x')).toHaveLength(1)
  expect(fits({ $id: 'https://acme.test/out', $defs: { s: { $id: 's', type: 'string' } }, $ref: 's' }, 1)).toBe(false)
})

test('a schema that is changed after it was compiled stays what it was', () => {
  const schema = { type: 'string', enum: ['a'] }
  const compiled = clientSchema(schema)
  schema.enum.push('b')
  expect(compiled.faults('b')).toHaveLength(1)
})

test('$async says nothing', () => {
  expect(clientSchema({ $async: true, type: 'string' }).faults(1)).toHaveLength(1)
})
