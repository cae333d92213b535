import { expect, it } from 'vitest'
import { merge } from './merge.ts'

async function* count(to: number, ended: string[] = [], name = ''): AsyncGenerator<string> {
  try {
    for (let at = 1; at <= to; at++) yield `${name}${at}`
  } finally {
    ended.push(name)
  }
}

async function all(items: AsyncIterable<string>): Promise<string[]> {
  const found: string[] = []
  for await (const item of items) found.push(item)
  return found
}

it('every item of every source comes once, in its own order', async () => {
  const items = await all(merge([count(3, [], 'a'), count(1, [], 'b'), count(0)]))
  expect(items.filter((item) => item.startsWith('a'))).toEqual(['a1', 'a2', 'a3'])
  expect(items.toSorted()).toEqual(['a1', 'a2', 'a3', 'b1'])
})

it('leaving early ends every source', async () => {
  const ended: string[] = []
  for await (const _ of merge([count(9, ended, 'a'), count(9, ended, 'b')])) break
  await Promise.resolve()
  expect(ended.toSorted()).toEqual(['a', 'b'])
})

it('the first failure ends every source', async () => {
  const ended: string[] = []
  // biome-ignore lint/correctness/useYield: it fails before it has anything to give
  async function* fail(): AsyncGenerator<string> {
    throw new RangeError('broken')
  }
  await expect(all(merge([count(9, ended, 'a'), fail()]))).rejects.toThrow('broken')
  await Promise.resolve()
  expect(ended).toEqual(['a'])
})
