import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Log } from '../../plugins/host.ts'
import type { Script, Store } from '../../plugins/store.ts'
import { type Redis, redisAvailable, startServer } from '../../test/support/redis.ts'
import { storeSchema } from '../store.ts'
import { createStore } from './index.ts'

const wall = { now: () => Date.now() }
const counter: Script = {
  name: 'count',
  lua: `local n = redis.call('INCRBY', KEYS[1], ARGV[1]) return { n, #ARGV }`,
  local(memory, [key = ''], args) {
    const next = Number(memory.get(key) ?? 0) + Number(args[0])
    memory.set(key, String(next))
    return [next, args.length]
  },
}

function recordingLog(): Log & { lines: string[] } {
  const lines: string[] = []
  const write = (fields: object, message: string) => void lines.push(`${message} ${JSON.stringify(fields)}`)
  return { lines, info: write, warn: write, error: write }
}

const open: Store[] = []
async function storeOver(section: object, log: Log = recordingLog()): Promise<Store> {
  const store = await createStore(storeSchema.parse({ kind: 'redis', ...section }), wall, log)
  open.push(store)
  return store
}
afterEach(async () => {
  for (const store of open.splice(0)) await store.close()
})

async function timed<T>(promise: Promise<T>): Promise<{ ms: number; value?: T; code?: string }> {
  const start = performance.now()
  try {
    const value = await promise
    return { ms: performance.now() - start, value }
  } catch (reason) {
    return { ms: performance.now() - start, code: (reason as { code: string }).code }
  }
}

describe.skipIf(!redisAvailable)('the store over a Redis server', () => {
  let redis: Redis
  beforeAll(async () => {
    redis = await startServer()
  })
  afterAll(() => redis[Symbol.asyncDispose]())

  test('values, adds, deletes and prefixes do what they do in memory', async () => {
    const store = await storeOver({ url: redis.url })
    expect(store.up()).toBe(true)
    await store.set('v*:a', Buffer.from([0, 255, 10]), 60_000)
    await store.set('v*:b', Buffer.from('b'), 60_000)
    await store.set('vx:b', Buffer.from('b'), 60_000)
    expect(await store.get('v*:a')).toEqual(Buffer.from([0, 255, 10]))
    expect(await store.add('v*:a', Buffer.from('2'), 1000)).toBe(false)
    expect(await store.add('new', Buffer.from('2'), 1000)).toBe(true)
    expect(await store.deletePrefix('v*:')).toBe(2)
    expect(await store.get('v*:a')).toBeUndefined()
    expect(String(await store.get('vx:b'))).toBe('b')
    await store.set('vx:b', Buffer.from('c'), 0)
    expect(await store.get('vx:b')).toBeUndefined()
    expect(await redis.cli('keys', '*')).toBe('foldgate:new')
  })

  test('a hash and a stream are found under the very name they are given', async () => {
    const store = await storeOver({ url: redis.url })
    await redis.cli('hset', 'profile:u1', 'tier', 'vip', '__proto__', 'x')
    const profile = await store.hash('profile:u1')
    expect(Object.entries(profile ?? {})).toEqual([
      ['tier', 'vip'],
      ['__proto__', 'x'],
    ])
    expect(await store.hash('profile:none')).toBeUndefined()
    for (let i = 0; i < 3; i++) await store.append('reviews', { id: String(i) }, 1000)
    expect(await redis.cli('xlen', 'reviews')).toBe('3')
  })

  test('a script is sent in full once and again after SCRIPT FLUSH, and no run is lost or doubled', async () => {
    const store = await storeOver({ url: redis.url })
    await redis.cli('config', 'resetstat')
    const runs: Promise<readonly (number | string)[]>[] = []
    for (let i = 0; i < 300; i++) {
      if (i % 100 === 50) runs.push(redis.cli('script', 'flush').then(() => []))
      runs.push(store.run(counter, ['flushed'], [1]))
      if (i % 10 === 0) await runs.at(-1)
    }
    await Promise.all(runs)
    expect(await store.run(counter, ['flushed'], [0])).toEqual([300, 1])
    expect(await redis.cli('info', 'commandstats')).toMatch(/cmdstat_eval:calls=\d+/)
  })

  test('an error of a script is a lost store for that call only, and is logged', async () => {
    const log = recordingLog()
    const store = await storeOver({ url: redis.url, onLoss: 'closed' }, log)
    const broken: Script = { name: 'broken', lua: `return redis.call('NOPE')`, local: () => [] }
    await expect(store.run(broken, ['k'], [])).rejects.toMatchObject({ code: 'store_lost', status: 503 })
    expect(store.up()).toBe(true)
    expect(log.lines.join()).toContain('refused a command')
  })
})

describe.skipIf(!redisAvailable)('a Redis that stops answering', () => {
  test.each(['open', 'closed'] as const)(
    'is given up after the command timeout, and not waited for again (%s)',
    async (onLoss) => {
      await using redis = await startServer()
      const log = recordingLog()
      const store = await storeOver({ url: redis.url, onLoss, commandTimeoutMs: 100 }, log)
      await store.run(counter, ['c'], [1])
      redis.pause()
      const first = await timed(store.run(counter, ['c'], [1]))
      expect(first.code).toBe('store_lost')
      expect(first.ms).toBeLessThan(300)
      expect(store.up()).toBe(false)
      const more = await Promise.all(Array.from({ length: 20 }, () => timed(store.run(counter, ['c'], [1]))))
      expect(Math.max(...more.map((each) => each.ms))).toBeLessThan(50)
      expect(await timed(store.get('c'))).toMatchObject({ value: undefined })
      expect(log.lines.filter((line) => line.includes('lost'))).toHaveLength(1)
      redis.resume()
      const back = performance.now()
      await vi.waitFor(() => expect(store.up()).toBe(true), { timeout: 4000, interval: 20 })
      expect(performance.now() - back).toBeLessThan(2000)
      // What lay in the socket while Redis stood still was not run when it went on.
      expect(await store.run(counter, ['c'], [1])).toEqual([2, 1])
    },
  )

  test('is replaced by this process with onLoss local, and is not told afterwards', async () => {
    await using redis = await startServer()
    const store = await storeOver({ url: redis.url, onLoss: 'local', commandTimeoutMs: 100 })
    await store.run(counter, ['c'], [10])
    redis.pause()
    expect(await store.run(counter, ['c'], [1])).toEqual([1, 1])
    expect(await store.run(counter, ['c'], [1])).toEqual([2, 1])
    await expect(store.append('s', { a: '1' }, 10)).rejects.toMatchObject({ code: 'store_lost' })
    await expect(store.deletePrefix('x')).rejects.toMatchObject({ code: 'store_lost' })
    redis.resume()
    await vi.waitFor(() => expect(store.up()).toBe(true), { timeout: 4000, interval: 20 })
    expect(await store.run(counter, ['c'], [1])).toEqual([11, 1])
  })

  test('is found again after it was killed and started anew', async () => {
    await using redis = await startServer()
    const store = await storeOver({ url: redis.url, onLoss: 'closed' })
    await redis.kill()
    await vi.waitFor(() => expect(store.up()).toBe(false), { timeout: 4000, interval: 5 })
    expect((await timed(store.run(counter, ['c'], [1]))).code).toBe('store_lost')
    await redis.restart()
    const back = performance.now()
    await vi.waitFor(() => expect(store.up()).toBe(true), { timeout: 4000, interval: 20 })
    expect(performance.now() - back).toBeLessThan(2000)
    expect(await store.run(counter, ['c'], [1])).toEqual([1, 1])
  })

  test('may be away at the start', async () => {
    await using redis = await startServer()
    await redis.kill()
    const store = await storeOver({ url: redis.url, onLoss: 'local' })
    expect(store.up()).toBe(false)
    expect(await store.run(counter, ['c'], [1])).toEqual([1, 1])
    await redis.restart()
    await vi.waitFor(() => expect(store.up()).toBe(true), { timeout: 4000, interval: 20 })
  })
})

describe.skipIf(!redisAvailable)('a Redis with a password', () => {
  test('is entered by the url, percent-decoded, into the database it names', async () => {
    await using redis = await startServer({ args: ['--requirepass', 'p@ss/word:1'] })
    const store = await storeOver({ url: `redis://:p%40ss%2Fword%3A1@127.0.0.1:${redis.port}/3`, onLoss: 'closed' })
    await store.set('k', Buffer.from('v'), 60_000)
    expect(await redis.cli('--no-auth-warning', '-a', 'p@ss/word:1', '-n', '3', 'get', 'foldgate:k')).toBe('v')
  })

  test('is never named with its password, whether the password or the url is wrong', async () => {
    await using redis = await startServer({ args: ['--requirepass', 'right-one'] })
    const log = recordingLog()
    const store = await storeOver({ url: `redis://:wrong-one@127.0.0.1:${redis.port}`, onLoss: 'closed' }, log)
    expect(store.up()).toBe(false)
    expect(log.lines.join()).toContain('WRONGPASS')
    const bad = await storeOver({ url: 'redis://:wrong-one@host:99999999' }, log).catch((reason) => reason)
    expect(bad).toMatchObject({ code: 'config_invalid' })
    expect(`${log.lines.join()}${bad.message}${bad.stack}`).not.toContain('wrong-one')
  })
})
