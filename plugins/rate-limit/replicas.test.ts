import { afterEach, describe, expect, test, vi } from 'vitest'
import { createStore } from '../../config/store/index.ts'
import { storeSchema } from '../../config/store.ts'
import { createManualClock } from '../../test/support/clock.ts'
import { redisAvailable, startServer } from '../../test/support/redis.ts'
import { startRedisCluster } from '../../test/support/redis-groups.ts'
import { errorHeaders } from '../errors.ts'
import type { Store } from '../store.ts'
import { answering, createRig, type Got, type Rig } from './test-rig.ts'

const wall = { now: () => Date.now() }
const silent = { info() {}, warn() {}, error() {} }
const open: Store[] = []
async function storeOver(section: object): Promise<Store> {
  const store = await createStore(storeSchema.parse({ kind: 'redis', ...section }), wall, silent)
  open.push(store)
  return store
}
afterEach(async () => {
  for (const store of open.splice(0)) await store.close()
})
const admitted = (got: readonly Got[]) => got.filter((each) => !each.error).length
const remaining = ({ headers }: Got) => Number(headers['x-ratelimit-remaining-tokens'])
// 90 tokens of prompt and 10 of output.
const hundred = { tenant: 'a', words: 90 }

describe.skipIf(!redisAvailable)('three replicas over one Redis', () => {
  test('admit together what the limit allows and not a token more', async () => {
    await using redis = await startServer()
    const clock = createManualClock()
    const config = { limits: [{ tokens_per_minute: 1000 }] }
    const replicas: Rig[] = []
    for (let i = 0; i < 3; i++) {
      const store = await storeOver({ url: redis.url, onLoss: 'closed', commandTimeoutMs: 2000 })
      replicas.push(createRig(config, { store, clock }))
    }
    const got = await Promise.all(Array.from({ length: 60 }, (_, i) => replicas[i % 3]!.ask(hundred)))
    expect(admitted(got)).toBe(10)
    clock.advance(6_000)
    expect(admitted(await Promise.all(replicas.map((each) => each.ask(hundred))))).toBe(1)
  })

  test('free the calls of a replica that died once their leases end', async () => {
    await using redis = await startServer()
    const clock = createManualClock()
    const config = { limits: [{ concurrent: 1 }], leaseMs: 30_000 }
    const dying = createRig(config, { store: await storeOver({ url: redis.url }), clock })
    const other = createRig(config, { store: await storeOver({ url: redis.url }), clock })
    await dying.start({ tenant: 'a' })
    expect((await other.ask({ tenant: 'a' })).error?.code).toBe('rate_limited')
    clock.advance(38_000)
    expect((await other.ask({ tenant: 'a' })).error).toBeUndefined()
  })
})

describe.skipIf(!redisAvailable)('a Redis that stands still', () => {
  async function standingStill(onLoss: string, during: (rig: Rig) => Promise<void>) {
    await using redis = await startServer()
    const store = await storeOver({ url: redis.url, onLoss, commandTimeoutMs: 150 })
    const rig = createRig({ limits: [{ tokens_per_minute: 1000 }] }, { store })
    for (let i = 0; i < 3; i++) await rig.ask({ ...hundred, inside: answering(10) })
    redis.pause()
    await during(rig)
    redis.resume()
    const back = performance.now()
    await vi.waitFor(() => expect(store.up()).toBe(true), { timeout: 4000, interval: 10 })
    expect(performance.now() - back).toBeLessThan(2000)
    // Three calls before, this one, and nothing of what was asked while it stood still.
    expect(remaining(await rig.ask(hundred))).toBe(1000 - 300 - 100)
  }

  async function ask(rig: Rig): Promise<{ got: Got; ms: number }> {
    const start = performance.now()
    const got = await rig.ask(hundred)
    return { got, ms: performance.now() - start }
  }

  async function askMany(rig: Rig): Promise<Got[]> {
    const asked = [await ask(rig)]
    for (let i = 0; i < 40; i++) asked.push(...(await Promise.all([ask(rig), ask(rig)])))
    expect(Math.max(...asked.map((each) => each.ms))).toBeLessThan(400)
    expect(asked.filter((each) => each.ms > 100).length).toBeLessThan(5)
    return asked.map((each) => each.got)
  }

  test('lets calls pass with onLoss open', () =>
    standingStill('open', async (rig) => {
      expect(admitted(await askMany(rig))).toBe(81)
      expect(rig.host.counts.get('rate-limit.store-lost')).toBe(81)
    }))

  test('refuses them with onLoss closed, as a 503 that says when to come back', () =>
    standingStill('closed', async (rig) => {
      const got = await askMany(rig)
      expect(admitted(got)).toBe(0)
      expect(got[0]!.error).toMatchObject({ code: 'store_lost', status: 503 })
      expect(errorHeaders(got[0]!.error!)['retry-after']).toBe('1')
    }))

  test('limits them by the memory of this process with onLoss local', () =>
    standingStill('local', async (rig) => {
      expect(admitted(await askMany(rig))).toBe(10)
    }))

  test('charges in full what its stand-in granted and Redis settles', async () => {
    await using redis = await startServer()
    const store = await storeOver({ url: redis.url, onLoss: 'local', commandTimeoutMs: 150 })
    const rig = createRig({ limits: [{ tokens_per_minute: 1000 }] }, { store })
    redis.pause()
    const reply = await rig.start(hundred)
    redis.resume()
    await vi.waitFor(() => expect(store.up()).toBe(true), { timeout: 4000, interval: 10 })
    for await (const _ of reply.bytes());
    expect(remaining(await rig.ask(hundred))).toBe(800)
  })
})

describe.skipIf(!redisAvailable)('a Redis Cluster of three masters', () => {
  test('takes limits on key, model and tenant, and loses no call to SCRIPT FLUSH under load', {
    timeout: 40_000,
  }, async () => {
    await using cluster = await startRedisCluster({ masters: 3 })
    const urls = cluster!.addresses.map(({ host, port }) => `redis://${host}:${port}`)
    const store = await storeOver({ cluster: urls, onLoss: 'closed', commandTimeoutMs: 2000 })
    const limits = [
      { name: 'model', key_fields: ['tenant', 'id', 'body.model'], tokens_per_minute: 1000, requests_per_minute: 100 },
      { name: 'team', key_fields: ['tenant'], tokens_per_minute: 5000, concurrent: 50 },
      { name: 'address', key_fields: ['client_ip'], requests_per_minute: 1000 },
      { name: 'all', key_fields: [], requests_per_minute: 10_000 },
    ]
    const rig = createRig({ limits }, { store })
    const tenants = Array.from({ length: 12 }, (_, i) => `tenant-${i}`)
    const got: Got[] = []
    for (let round = 0; round < 12; round++) {
      const asked = Promise.all(tenants.map((tenant) => rig.ask({ tenant, words: 90 })))
      if (round % 3 === 1) await Promise.all(cluster!.nodes.map((node) => node.cli('script', 'flush')))
      got.push(...(await asked))
    }
    expect(admitted(got)).toBe(12 * 10)
    expect(new Set(got.map((each) => each.error?.code))).toEqual(new Set([undefined, 'rate_limited']))
  })
})
