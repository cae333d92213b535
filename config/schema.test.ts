import { expect, test } from 'vitest'
import { createSchema } from '../plugins/schema.ts'
import { gatewayJsonSchema } from './schema.ts'
import { testLayers, testSchema } from './test-config.ts'

interface Described {
  readonly properties?: Record<string, Described>
  readonly items?: Described
  readonly description?: string
}

function undescribed(schema: Described, path = ''): string[] {
  const inner = Object.entries(schema.properties ?? {}).flatMap(([key, member]) => [
    ...(member.description ? [] : [`${path}.${key}`]),
    ...undescribed(member, `${path}.${key}`),
  ])
  return [...inner, ...(schema.items ? undescribed(schema.items, `${path}[]`) : [])]
}

test('every field of every section says what it is', () => {
  const { layers: _layers, ...sections } = testSchema.json['properties'] as Record<string, Described>
  expect(undescribed({ properties: sections })).toEqual([])
})

test('references inside a layer’s schema hold in the whole one', () => {
  const wrong = { runners: [], layers: { auth: { apiKeys: [{ id: 1, x: 2 }] } } }
  expect(testSchema.faults(wrong).map((fault) => fault.path)).toEqual([
    'layers.auth.apiKeys[0].x',
    'layers.auth.apiKeys[0].id',
  ])
})

test('the published schema stands by itself, asks for runners and closes every section', () => {
  const published = gatewayJsonSchema(testLayers)
  expect(published['required']).toEqual(['runners'])
  const alone = createSchema(JSON.parse(JSON.stringify({ ...published, $schema: undefined })))
  expect(alone.faults({})).toEqual([{ path: 'runners', message: 'is required' }])
  expect(alone.faults({ runners: [], listen: { x: 1 } })).toHaveLength(1)
})
