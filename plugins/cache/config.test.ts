import { expect, test } from 'vitest'
import { cache } from './index.ts'
import { warnings } from './warnings.ts'

test('an empty section is the documented defaults', () => {
  expect(cache.config.parse({})).toEqual({
    ttl_seconds: 300,
    input_hash_fields: null,
    preprocess_hooks: [],
    cache_strategy: 'any',
    output_validation: null,
    hooks: {},
    finishReasons: ['stop', 'tool_calls', 'function_call'],
    maxBytes: 268_435_456,
    maxEntryBytes: 4_194_304,
    localTtlMs: 1000,
    coalesceWaitMs: 15_000,
    clientHints: true,
    pinned: [],
    importFile: null,
  })
})

test.each([
  [{ ttl: 1 }, 'ttl'],
  [{ ttl_seconds: -1 }, 'ttl_seconds'],
  [{ ttl_seconds: 0.5 }, 'ttl_seconds'],
  [{ input_hash_fields: [] }, 'input_hash_fields'],
  [{ input_hash_fields: [{ path: 'a', precision: 'int32' }] }, 'input_hash_fields[0].precision'],
  [{ input_hash_fields: [{ path: 'a', precision: 'decimal:21' }] }, 'input_hash_fields[0].precision'],
  [{ input_hash_fields: [{ precision: 'int64' }] }, 'input_hash_fields[0].path'],
  [{ cache_strategy: 'always' }, 'cache_strategy'],
  [
    { output_validation: { quality_score: { min: 2, scorer: { url: 'http://a' } } } },
    'output_validation.quality_score.min',
  ],
  [
    { output_validation: { quality_score: { min: 1, scorer: { url: 'ftp://a' } } } },
    'output_validation.quality_score.scorer.url',
  ],
  [{ pinned: [{ request: { model: 'm' } }] }, 'pinned[0].response'],
  [{ hooks: { own: [] } }, 'hooks.own'],
])('%j is refused at %s', (config, path) => {
  expect(cache.config.faults(config).map((fault) => fault.path)).toContain(path)
})

test('every field is described', () => {
  const undescribed = Object.entries(
    cache.config.json['properties'] as Record<string, { description?: string }>,
  ).filter(([, field]) => !field.description)
  expect(undescribed).toEqual([])
})

test.each([
  [null, 0],
  [['messages'], 0],
  [['messages[-1]'], 0],
  [['messages[0].content', { path: 'messages.-1.content' }], 0],
  [['messages[0].content'], 1],
  [['messages[1].content', 'tenant'], 1],
  [['body.messages[-1].role'], 1],
])('check warns of %j %i times', (input_hash_fields, count) => {
  expect(warnings({ input_hash_fields })).toHaveLength(count)
})
