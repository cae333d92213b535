import { expect, it } from 'vitest'
import type { Store } from '../store.ts'
import type { Entry } from './entry.ts'
import { createLeases, type LeaseWait } from './lease.ts'

/** A store that tells what it was asked, in order, and answers when told to. */
function slowStore() {
  const asked: string[] = []
  const adding = Promise.withResolvers<boolean>()
  const store = {
    up: () => true,
    add: (key: string) => {
      asked.push(`add ${key}`)
      return adding.promise
    },
    set: async (key: string) => void asked.push(`set ${key}`),
    delete: async (key: string) => void asked.push(`delete ${key}`),
  } as unknown as Store
  return { store, asked, adding }
}

const entry = { json: Buffer.from('{}') } as Entry
const key = `cache:gw:l:${'a'.repeat(32)}`
const digest = 'a'.repeat(64)
const waiting = { waitMs: 1_000, signal: new AbortController().signal }

it('looks and claims at once: neither waits for the other', async () => {
  const { store, asked, adding } = slowStore()
  const looking = Promise.withResolvers<Entry | undefined>()
  const look: LeaseWait['look'] = () => {
    asked.push('look')
    return looking.promise
  }
  const taken = createLeases(store, 'gateway').take(digest, { look, ...waiting })
  expect(asked.toSorted()).toEqual([`add ${key}`, 'look'])
  looking.resolve(undefined)
  adding.resolve(true)
  const lease = await taken
  expect(lease).toHaveProperty('end')
  if (lease && 'end' in lease) lease.end(false)
})

it('an answer that is there is not kept back by a claim, which is given back when it was won', async () => {
  const { store, asked, adding } = slowStore()
  const taken = await createLeases(store, 'gateway').take(digest, { look: async () => entry, ...waiting })
  expect(taken).toEqual({ entry, first: true })
  expect(asked).toEqual([`add ${key}`])
  adding.resolve(true)
  await expect.poll(() => asked).toEqual([`add ${key}`, `delete ${key}`])
})

it('a claim that fails while the look is under way is nobody else’s fault', async () => {
  const { store, adding } = slowStore()
  const looking = Promise.withResolvers<Entry | undefined>()
  const taken = createLeases(store, 'gateway').take(digest, { look: () => looking.promise, ...waiting })
  adding.reject(new Error('the store is gone'))
  await new Promise(setImmediate)
  looking.resolve(entry)
  expect(await taken).toEqual({ entry, first: true })
})
