import { expect, test } from 'vitest'
import { repairedJson } from './json-repair.ts'
import { withoutFence } from './json-text.ts'

test.each([
  ['```json\n{"a":1}\n```', { a: 1 }],
  ['Sure! Here it is: {"a":[1,2,],} Hope it helps.', { a: [1, 2] }],
  ['{"a":"b', { a: 'b' }],
  ['{"a":"b\\', { a: 'b' }],
  ['{"a":1,"b', { a: 1, b: null }],
  ['{"a":1,"b":', { a: 1, b: null }],
  ['{"a":[true,fal', { a: [true, false] }],
  ['{"a":12.', { a: 12 }],
  ['{"a":1e-', { a: 1 }],
  ['{"a":"12.', { a: '12.' }],
  ['{"a":1,  ', { a: 1 }],
  ['[1,[2,{"x":"y"', [1, [2, { x: 'y' }]]],
  ['{"a":"one\ntwo"}', { a: 'one\ntwo' }],
  ['{"a":1]}', { a: 1 }],
])('broken JSON is read as it was meant: %s', (text, value) => {
  expect(JSON.parse(repairedJson(text) as string)).toEqual(value)
})

test.each(['no JSON at all', '', '{a:1}', "{'a':1}"])('what nobody can read stays broken: %s', (text) => {
  expect(repairedJson(text)).toBeUndefined()
})

test('a fence is taken off, and nothing else', () => {
  expect(withoutFence(' ```json\n{"a": "```"}\n``` ')).toBe('{"a": "```"}')
  expect(withoutFence('{"a":1}')).toBe('{"a":1}')
})

test('a long broken text takes linear time', () => {
  const start = performance.now()
  repairedJson(`{"a":${'['.repeat(100_000)}`)
  repairedJson(`{"a":"${'\\"'.repeat(100_000)}`)
  repairedJson(`[${'{"a":1,},'.repeat(20_000)}`)
  expect(performance.now() - start).toBeLessThan(3000)
})
