import { expect, test } from 'vitest'
import type { Entry } from './entry.ts'
import { createFront } from './front.ts'

const entry = (sha: string, length: number, tenant = 't'): Entry => ({
  meta: { sha, madeAt: 0, askedAt: 0, ttlMs: 1, tenant, route: 'chat', prompt: '' },
  json: Buffer.alloc(length),
})

test('the least recently used go first, and the bytes never pass the bound', () => {
  const front = createFront(10_000)
  for (const sha of ['a', 'b', 'c']) front.set(entry(sha, 2_000), 1)
  front.get('a')
  front.set(entry('d', 2_000), 1)
  expect(['a', 'b', 'c', 'd'].map((sha) => front.get(sha) !== undefined)).toEqual([true, false, true, true])
  for (let i = 0; i < 1_000; i++) {
    front.set(entry(`k${i % 7}`, (i * 37) % 5_000), 1)
    expect(front.bytes).toBeLessThanOrEqual(10_000)
  }
})

test('what is replaced or deleted gives its bytes back', () => {
  const front = createFront(10_000)
  front.set(entry('a', 1_000), 1)
  front.set(entry('a', 2_000), 1)
  front.set(entry('b', 1_000, 'other'), 1)
  expect(front.deleteWhere((each) => each.meta.tenant === 'other')).toBe(1)
  front.delete('a')
  front.delete('a')
  expect(front.bytes).toBe(0)
})

test('an entry larger than everything pushes nothing out', () => {
  const front = createFront(5_000)
  front.set(entry('a', 100), 1)
  front.set(entry('b', 6_000), 1)
  expect(front.get('a')).toBeDefined()
  expect(front.get('b')).toBeUndefined()
})
