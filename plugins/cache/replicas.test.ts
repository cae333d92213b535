import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createStore } from '../../config/store/index.ts'
import { storeSchema } from '../../config/store.ts'
import { createGate } from '../../test/support/gate.ts'
import { type Redis, redisAvailable, startServer } from '../../test/support/redis.ts'
import type { Store } from '../store.ts'
import type { CacheConfig } from './config.ts'
import { answerTo, chat, completion, createRig, type Rig } from './test-rig.ts'

const silent = { info() {}, warn() {}, error() {} }

describe.skipIf(!redisAvailable)('two replicas over one Redis', () => {
  let redis: Redis
  const stores: Store[] = []
  beforeAll(async () => {
    redis = await startServer()
  })
  afterAll(async () => {
    for (const store of stores) await store.close()
    await redis[Symbol.asyncDispose]()
  })

  async function replica(config: Partial<CacheConfig> = {}, overrides: object = {}): Promise<Rig> {
    const section = storeSchema.parse({ kind: 'redis', url: redis.url, onLoss: 'closed' })
    const store = await createStore(section, { now: () => Date.now() }, silent)
    stores.push(store)
    return createRig(config, { ...overrides, store })
  }
  async function pair(config: Partial<CacheConfig> = {}, overrides: object = {}): Promise<[Rig, Rig]> {
    await redis.cli('FLUSHALL')
    return [await replica(config, overrides), await replica(config, overrides)]
  }
  const keys = async (pattern: string) => (await redis.cli('KEYS', pattern)).split('\n').filter(Boolean)

  test('share an answer, compressed, under a key that tells neither tenant nor question', async () => {
    const [one, two] = await pair()
    one.runner = async (call) => answerTo(call, completion('x'.repeat(20_000)))
    await one.ask(chat('secret words'), { tenant: 'acme' })
    await vi.waitFor(async () => expect(await keys('*cache:gw:e:*')).toHaveLength(1))
    const got = await two.ask(chat('secret words'), { tenant: 'acme' })
    expect(got).toMatchObject({ source: 'cache', text: expect.stringContaining('x'.repeat(20_000)) })
    const [key = ''] = await keys('*cache:gw:e:*')
    expect(key).toMatch(/cache:gw:e:chat:[0-9a-f]{16}:[0-9a-f]{16}$/)
    expect(Number(await redis.cli('STRLEN', key))).toBeLessThan(1_500)
    expect(Number(await redis.cli('PTTL', key))).toBeGreaterThan(290_000)
    expect((await two.ask(chat('secret words'), { tenant: 'other' })).source).toBe('runner')
  })

  // B09
  test('ask once for many identical cold calls on both', async () => {
    const [one, two] = await pair()
    const gate = createGate()
    for (const rig of [one, two]) {
      rig.runner = async (call) => {
        await gate.opened
        return answerTo(call, completion('once'))
      }
    }
    const asked = Array.from({ length: 20 }, (_, index) => (index % 2 ? one : two).ask(chat('hi')))
    await vi.waitFor(() => expect(one.reached.length + two.reached.length).toBe(1))
    gate.open()
    const got = await Promise.all(asked)
    expect(got.every((each) => each.text.includes('once'))).toBe(true)
    expect(one.reached.length + two.reached.length).toBe(1)
  })

  test('take over from a replica that failed at once, and from one that died when its lease is over', async () => {
    for (const end of ['fails', 'dies']) {
      const [one, two] = await pair()
      const gate = createGate()
      one.runner = async () => {
        await gate.opened
        throw new Error('no')
      }
      const first = one.ask(chat('hi')).catch(() => {})
      await vi.waitFor(() => expect(one.reached).toHaveLength(1))
      const second = two.ask(chat('hi'))
      await vi.waitFor(async () => expect(await keys('*cache:gw:l:*')).toHaveLength(1))
      const start = performance.now()
      if (end === 'fails') gate.open()
      else {
        // As after SIGKILL: nobody renews the lease any more, and its time runs out.
        await one.acting.close?.()
        await redis.cli('PEXPIRE', (await keys('*cache:gw:l:*'))[0] as string, '1')
      }
      expect((await second).text).toContain('hello')
      expect(two.reached).toHaveLength(1)
      // A lease that nobody gave back would hold it up for 3 s.
      expect(performance.now() - start).toBeLessThan(2_000)
      gate.open()
      await first
    }
  })

  test('a purge on one reaches what the other has at hand within its bound', async () => {
    const [one, two] = await pair({ localTtlMs: 1000 }, { insideDigest: () => 'x', promptVersion: () => '7' })
    for (const scope of [{}, { tenant: 't1' }, { route: 'chat' as const }, { promptVersion: '7' }]) {
      await one.ask(chat('hi'))
      await vi.waitFor(async () => expect(await keys('*cache:gw:e:*')).not.toHaveLength(0))
      expect((await two.ask(chat('hi'))).source).toBe('cache')
      await one.acting.purge(scope)
      for (const rig of [one, two]) rig.host.clock.advance(1000)
      expect(
        (await two.ask(chat('hi'), { headers: { 'cache-control': 'only-if-cached' } }).catch((e) => e)).status,
      ).toBe(504)
      expect((await one.ask(chat('hi'), { headers: { 'cache-control': 'no-store' } })).source).toBe('runner')
      for (const rig of [one, two]) rig.host.clock.advance(1)
    }
  })

  test('while Redis is away each answers what it holds, and calls go on', async () => {
    const [one] = await pair()
    await one.ask(chat('hi'))
    await vi.waitFor(async () => expect(await keys('*cache:gw:e:*')).toHaveLength(1))
    await redis.kill()
    await vi.waitFor(() => expect(one.host.store.up()).toBe(false))
    one.host.clock.advance(2_000)
    expect((await one.ask(chat('hi'))).source).toBe('cache')
    expect((await one.ask(chat('new'))).source).toBe('runner')
    expect((await one.ask(chat('new'))).source).toBe('cache')
    await expect(one.acting.purge({})).rejects.toMatchObject({ code: 'store_lost' })
    expect((await one.ask(chat('new'))).source).toBe('runner')
    await redis.restart()
  })
})
