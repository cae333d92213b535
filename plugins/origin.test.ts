import { expect, it } from 'vitest'
import type { Chunk } from './chat.ts'
import { markOrigin, originOf } from './origin.ts'

it('is known of the very chunk that was marked, and of no copy of it', () => {
  const chunk: Chunk = JSON.parse('{"id":"c","choices":[]}')
  const event = { data: '{"id":"c","choices":[]}' }
  markOrigin(chunk, event)
  expect(originOf(chunk)).toBe(event)
  expect(originOf({ ...chunk })).toBeUndefined()
  expect(originOf(structuredClone(chunk))).toBeUndefined()
})

it('leaves no trace on the chunk', () => {
  const chunk: Chunk = { id: 'c' }
  markOrigin(chunk, { data: '{"id":"c"}' })
  expect(Reflect.ownKeys(chunk)).toEqual(['id'])
  expect(JSON.stringify(chunk)).toBe('{"id":"c"}')
})
