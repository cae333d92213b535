import { expect, test } from 'vitest'
import { createTestHost } from '../../test/support/host.ts'
import { GatewayError } from '../errors.ts'
import { configSchema } from './config.ts'
import { open } from './gateway.ts'
import { buffers, rulesFor } from './rule.ts'
import { callOf } from './test-answers.ts'

const faultsOf = (config: object): string[] => {
  try {
    open(configSchema.parse(config), createTestHost())
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'config_invalid')
      return (error.detail.faults ?? []).map(({ path }) => path)
    throw error
  }
  return []
}

test('the section of the documents is accepted', () => {
  expect(faultsOf({ pii: { mode: 'redact', types: ['email', 'card'] }, forbidden_phrases: [], suffix: null })).toEqual(
    [],
  )
  expect(faultsOf({})).toEqual([])
})

test.each([
  [{ pie: null }, ['pie']],
  [{ pii: { types: ['emails'] } }, ['pii.types[0]']],
  [{ pii: { custom: [{ name: 'x', pattern: 'x' }] } }, ['pii.custom[0].maxMatch']],
  [{ pii: { custom: [{ name: 'x', pattern: 'x', maxMatch: 1025 }] } }, ['pii.custom[0].maxMatch']],
  [{ redaction: '"{label}"' }, ['redaction']],
  [{ suffix: { text: 'x', more: 1 } }, ['suffix.more']],
  [{ routes: { embeddings: {} } }, ['routes.embeddings']],
  [{ tenants: { t1: { maxRetries: 99 } } }, ['tenants.t1.maxRetries']],
])('an unknown key or a value out of range is told with its path: %j', (config, paths) => {
  expect(faultsOf(config)).toEqual(paths)
})

test('what is wrong across members is told all at once, with paths', () => {
  const pii = {
    custom: [
      { name: 'a', pattern: '(', maxMatch: 9 },
      { name: 'b', pattern: 'x*', maxMatch: 9 },
      { name: 'c', pattern: '^x', maxMatch: 9 },
      { name: 'd', pattern: '[$^]\\$x', maxMatch: 9 },
    ],
  }
  const config = {
    pii,
    json: { schema: { type: 'objekt' } },
    echo_guard: { paths: ['messages..x'] },
    required_phrases: ['say ACME'],
    forbidden_phrases: ['acme'],
    suffix: 'by acme',
    safety: [{ category: 'medical', threshold: 'block_high' }],
    review: { below: 0.5 },
  }
  expect(faultsOf(config)).toEqual([
    'json.schema.type',
    'pii.custom[0].pattern',
    'pii.custom[1].pattern',
    'pii.custom[2].pattern',
    'echo_guard.paths[0]',
    'required_phrases[0]',
    'suffix',
    'suffix',
    'safety[0].category',
    'review',
    'review',
  ])
})

test('a suffix and a schema that clash are told as UNSATISFIABLE', () => {
  const closed = { type: 'object', properties: { a: {} }, additionalProperties: false }
  expect(faultsOf({ suffix: 'x', json: { schema: closed } })).toEqual(['suffix'])
  expect(faultsOf({ suffix: { text: 'x', field: 'b' }, json: { schema: closed } })).toEqual(['suffix.field'])
  expect(faultsOf({ suffix: { text: 'x', field: 'a' }, json: { schema: closed } })).toEqual([])
})

test('faults of a tenant name the tenant, and those of all are told once', () => {
  const bad = { custom: [{ name: 'a', pattern: '(', maxMatch: 9 }] }
  expect(faultsOf({ pii: bad, tenants: { t1: {}, t2: { suffix: 'x' } } })).toEqual(['pii.custom[0].pattern'])
  expect(faultsOf({ tenants: { t1: { pii: bad } } })).toEqual(['tenants.t1.pii.custom[0].pattern'])
  expect(faultsOf({ routes: { chat: { pii: bad } } })).toEqual(['routes.chat.pii.custom[0].pattern'])
})

test.each([
  [{}, {}, false],
  [{ pii: { types: ['email'] }, forbidden_phrases: ['x'], suffix: 'y' }, {}, false],
  [{}, { response_format: { type: 'json_object' } }, true],
  [{}, { response_format: { type: 'text' } }, false],
  [{ json: { responseFormat: 'ignore' } }, { response_format: { type: 'json_object' } }, false],
  [{ json: { schema: {} } }, {}, true],
  [{ required_phrases: ['x'] }, {}, true],
  [{ min_output_length: 1 }, {}, true],
  [{ quality_score: { scorer: 'endpoint', url: 'http://x' } }, {}, true],
  [{ tenants: { t1: { min_output_length: 1 } } }, {}, true],
  [{ tenants: { t2: { min_output_length: 1 } } }, {}, false],
])('a stream is buffered where a rule needs it whole: %j %j', (config, body, whole) => {
  const call = callOf(body)
  const rules = rulesFor(configSchema.parse(config), call.route, call.facts.principal?.tenant)
  expect(buffers(rules, call)).toBe(whole)
})
