import { describe, expect, test } from 'vitest'
import { until } from '../../../test/support/gate.ts'
import { type Redis, redisAvailable, startServer } from '../../../test/support/redis.ts'
import { startRedisCluster, startRedisSentinel } from '../../../test/support/redis-groups.ts'
import { lostFor } from './drain.ts'
import { stateKeys } from './scripts.ts'
import type { RolloutState } from './state.ts'
import { layerAt, move, recordingLog, shares } from './test-documents.ts'
import { createReplicas, leaderOf } from './test-replicas.ts'

const tripOf = (rolloutId: string, layer = 'auth') => ({ rolloutId, gen: 1, layer, reason: 'bad' })
const stored = async (redis: Pick<Redis, 'cli'>) =>
  JSON.parse((await redis.cli('get', `foldgate:${stateKeys.state}`)) || '{}')
const shareOf = (state: RolloutState, id: string) => shares(state.known)[id]
const within2s = (ask: () => boolean | Promise<boolean>, what: string) => until(ask, what, 2_000)
/** Starts it on its port, which others may hold for a moment. */
const startAgain = (redis: Redis) =>
  until(
    () =>
      redis.restart().then(
        () => true,
        () => false,
      ),
    'it starts again',
    20_000,
  )
const isLost = (state: RolloutState) => typeof state.condition !== 'string'

/** Two replicas with one layer in canary at 1 %. */
async function canary(redis: Redis, replicas: ReturnType<typeof createReplicas>) {
  const [a, b] = [await replicas.open('a'), await replicas.open('b')]
  await move(await leaderOf([a, b]), { auth: layerAt('canary', 'R1') })
  await until(() => shareOf(a, 'R1') === 100 && shareOf(b, 'R1') === 100, 'both know')
  expect((await stored(redis)).rev).toBe(1)
  return [a, b] as const
}

describe.skipIf(!redisAvailable)('a Redis that goes away', { timeout: 40_000 }, () => {
  test('leaves what is known in force, lets nobody lead, and still lets anybody trip', async () => {
    await using redis = await startServer()
    await using replicas = createReplicas({ url: redis.url })
    const [a, b] = await canary(redis, replicas)
    redis.pause()
    await until(() => isLost(a) && isLost(b), 'both notice')
    const outcome = a.trip(tripOf('R1'))
    expect(shareOf(a, 'R1')).toBe(0)
    expect(await outcome).toEqual({ confirmed: 1, of: 2, missing: ['b'] })
    expect(shareOf(b, 'R1')).toBe(100)
    await until(() => !a.lead() && !b.lead(), 'nobody leads')
    expect(await move(b, { auth: layerAt('canary', 'R1', { weight: 1_000 }) }, { fence: 1 })).toBe('fenced')
    expect(lostFor(b.condition)).toBeGreaterThan(0)
    await expect(b.collect('R1', 'S1')).rejects.toMatchObject({ code: 'store_lost' })
    expect(await b.history(5)).toEqual([])
    redis.resume()
    // What could not be told then is told by itself.
    await until(() => b.condition === 'up' && a.condition === 'up', 'it is back', 5_000)
    await within2s(() => shareOf(b, 'R1') === 0, 'b hears of it')
    expect((await stored(redis)).tripped).toHaveProperty('R1')
  })

  test('is asked again from the start when it was not there at first', async () => {
    await using redis = await startServer()
    await using replicas = createReplicas({ url: redis.url })
    await redis.kill()
    const a = await replicas.open('a')
    expect(isLost(a)).toBe(true)
    await a.trip(tripOf('R1'))
    expect(await move(a, {}, { fence: 0 })).toBe('fenced')
    await startAgain(redis)
    await until(async () => (await stored(redis)).tripped?.R1 !== undefined, 'the trip is told', 5_000)
    await leaderOf([a])
  })

  test.each(['killed', 'flushed'] as const)(
    'and comes back empty (%s) is told what was known, and held (scenario 12)',
    async (how) => {
      await using redis = await startServer()
      await using replicas = createReplicas({ url: redis.url })
      const log = recordingLog()
      const [a, b] = await canary(redis, replicas)
      const c = await replicas.open('c', { log })
      const { fence } = await leaderOf([a, b, c])
      await c.trip(tripOf('R0', 'cache'))
      if (how === 'killed') {
        await redis.kill()
        await startAgain(redis)
      } else await redis.cli('flushall')
      await within2s(async () => (await stored(redis)).rev >= 3, 'it is told')
      expect(await stored(redis)).toMatchObject({ hold: expect.stringContaining('empty'), tripped: { R0: {} } })
      await within2s(() => a.known.hold !== '' && b.known.hold !== '' && c.known.hold !== '', 'all hold')
      expect([a, b, c].map((state) => shareOf(state, 'R1'))).toEqual([100, 100, 100])
      // The fence from before is void, and the next one is higher.
      const next = await leaderOf([a, b, c])
      await until(async () => (await leaderOf([a, b, c])).fence > fence, 'a new fence', 5_000)
      expect(await move(next, { auth: layerAt('canary', 'R1', { weight: 500 }) }, { fence })).toBe('fenced')
      const leader = await leaderOf([a, b, c])
      expect(await move(leader, { auth: layerAt('canary', 'R1', { weight: 500 }) }, { hold: '' })).toBe('done')
      await within2s(() => c.known.hold === '' && shareOf(c, 'R1') === 500, 'a person let it go on')
      expect(log.lines.filter((line) => line.includes('lost what was written')).length).toBeLessThanOrEqual(1)
    },
  )

  test('and comes back without its last writes is told the trip again, and nobody serves the rollout (scenario 11) (scenario 12)', async () => {
    await using redis = await startServer()
    await using replicas = createReplicas({ url: redis.url })
    const [a, b] = await canary(redis, replicas)
    await redis.cli('save')
    await move(await leaderOf([a, b]), { auth: layerAt('canary', 'R1', { weight: 5_000 }) })
    await until(() => shareOf(a, 'R1') === 5_000 && shareOf(b, 'R1') === 5_000, 'both know')
    await b.trip(tripOf('R1'))
    const seen: (number | undefined)[] = []
    for (const state of [a, b]) state.onChange(() => seen.push(shareOf(state, 'R1')))
    await redis.kill()
    await startAgain(redis)
    expect((await stored(redis)).layers.auth.stage).toBe('canary')
    await within2s(async () => (await stored(redis)).tripped.R1 !== undefined, 'the trip is told again')
    expect((await stored(redis)).layers.auth).toMatchObject({ stage: 'rolled-back', weights: {} })
    expect(Math.max(0, ...seen.map(Number))).toBe(0)
    // A replica that has just started never sees it come back to life either.
    expect(shareOf(await replicas.open('c'), 'R1')).toBe(0)
  })

  test('and was killed in the middle of many steps has every step whole, once, and in order', async () => {
    await using redis = await startServer({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] })
    await using replicas = createReplicas({ url: redis.url })
    const [a, b] = [await replicas.open('a'), await replicas.open('b')]
    const weights: number[] = []
    a.onChange(() => weights.push(shareOf(a, 'R1') ?? 0))
    for (let round = 0; round < 3; round++) {
      // A step can be refused before its time, as when the lead goes over: then with whoever leads now.
      for (let killed = false; !killed; ) {
        const leader = await leaderOf([a, b], 10_000)
        const from = leader.known.rev
        for (let rev = from; rev < from + 5; rev++) {
          const step = move(leader, { auth: layerAt('canary', 'R1', { weight: (rev + 1) * 10 }) })
          if (rev === from + 3 - round) {
            await redis.kill()
            killed = true
          }
          if ((await step) !== 'done') break
        }
      }
      await startAgain(redis)
      await until(
        () => a.condition === 'up' && b.condition === 'up' && a.known.rev === b.known.rev,
        'both agree',
        5_000,
      )
      expect(await stored(redis)).toMatchObject({ rev: a.known.rev, hold: '' })
      expect(shareOf(a, 'R1')).toBe(a.known.rev * 10)
    }
    expect(weights).toEqual(weights.toSorted((x, y) => x - y))
    expect(a.known.rev).toBeGreaterThanOrEqual(6)
  })
})

describe.skipIf(!redisAvailable)('a Redis with replicas', { timeout: 60_000 }, () => {
  test('confirms changes, and lets nobody lead on its own', async () => {
    await using master = await startServer()
    await using copy = await startServer({ args: ['--replicaof', '127.0.0.1', String(master.port)] })
    await until(async () => (await copy.cli('info', 'replication')).includes('link_status:up'), 'a copy', 10_000)
    await using replicas = createReplicas({ url: master.url })
    const log = recordingLog()
    const a = await replicas.open('a', { replicas: 1, leaseMs: 2_000, log })
    expect(await move(await leaderOf([a]), { auth: layerAt('shadow', 'R1') })).toBe('done')
    expect(log.lines).toEqual([])
    await copy.kill()
    await until(() => a.lead() === undefined, 'a stops leading', 6_000)
    await a.trip(tripOf('R1'))
    expect(log.lines.join()).toContain('no replica of the store has confirmed')
    expect(await stored(master)).toHaveProperty('tripped.R1')
  })

  test('keeps a trip over a failover by sentinels', async () => {
    await using group = await startRedisSentinel()
    const urls = group!.addresses.map(({ host, port }) => `redis://${host}:${port}`)
    await using replicas = createReplicas({ sentinel: { name: group!.name, urls } })
    const [a, b] = [await replicas.open('a'), await replicas.open('b')]
    await move(await leaderOf([a, b]), { auth: layerAt('canary', 'R1') })
    await group!.master.kill()
    await until(() => isLost(a), 'a notices')
    await a.trip(tripOf('R1'))
    await until(() => a.condition === 'up' && b.condition === 'up', 'another master', 30_000)
    await within2s(() => shareOf(b, 'R1') === 0, 'b hears of it')
    expect(await stored(group!.replica)).toHaveProperty('tripped.R1')
  })

  test('may be a cluster', async () => {
    await using cluster = await startRedisCluster({ masters: 3 })
    await using replicas = createReplicas({
      cluster: cluster!.addresses.map(({ host, port }) => `redis://${host}:${port}`),
    })
    const [a, b] = [await replicas.open('a'), await replicas.open('b', { pollMs: 500 })]
    expect(await move(await leaderOf([a, b]), { auth: layerAt('canary', 'R1') })).toBe('done')
    await within2s(() => shareOf(b, 'R1') === 100, 'b knows')
    expect(await b.trip(tripOf('R1'))).toMatchObject({ confirmed: 2, of: 2 })
    a.publish('R1', 'S1', { n: 1 })
    expect(await a.collect('R1', 'S1')).toHaveLength(1)
    expect(await a.history(5)).toHaveLength(2)
  })
})
