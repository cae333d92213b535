import { Redis as Client, Cluster } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { until } from './gate.ts'
import { failOnLeaks } from './leaks.ts'
import { redisAvailable, startRedis } from './redis.ts'
import { startRedisCluster, startRedisSentinel } from './redis-groups.ts'

failOnLeaks()

describe.skipIf(!redisAvailable)('redis', { timeout: 40_000 }, () => {
  test('a server answers, falls silent, goes on, dies and comes back empty on its port', async () => {
    await using redis = (await startRedis())!
    await redis.cli('set', 'a', '1')
    const client = new Client(redis.url, { maxRetriesPerRequest: 0, commandTimeout: 100, retryStrategy: () => null })
    client.on('error', () => {})
    expect(await client.get('a')).toBe('1')
    redis.pause()
    await expect(client.get('a')).rejects.toThrow('timed out')
    redis.resume()
    expect(await redis.cli('get', 'a')).toBe('1')
    const ended = new Promise((done) => client.once('end', done))
    await redis.kill()
    await ended
    await redis.restart()
    expect(await redis.cli('get', 'a')).toBe('')
  })

  test('a cluster holds all slots over three masters', async () => {
    await using cluster = (await startRedisCluster())!
    expect(await cluster.nodes[0]!.cli('cluster', 'info')).toContain('cluster_slots_ok:16384')
    expect(await cluster.masters()).toHaveLength(3)
    const client = new Cluster([...cluster.addresses])
    for (let index = 0; index < 20; index++) await client.set(`key-${index}`, index)
    const sizes = await Promise.all(cluster.nodes.map((node) => node.cli('dbsize')))
    expect(sizes.map(Number).reduce((sum, size) => sum + size, 0)).toBe(20)
    expect(sizes.every((size) => Number(size) < 20)).toBe(true)
    client.disconnect()
  })

  test('sentinels make the replica the master when the master dies', async () => {
    await using group = (await startRedisSentinel())!
    expect(await group.masterPort()).toBe(group.master.port)
    await group.master.kill()
    await until(async () => (await group.masterPort()) === group.replica.port, 'a failover', 20_000)
    await until(async () => (await group.replica.cli('role')).startsWith('master'), 'a new master')
  })
})
