import { describe, expect, it, vi } from 'vitest'
import { until } from '../support/gate.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'
import { type Redis, redisAvailable, startServer } from '../support/redis.ts'
import { ask, expectSame, sharing, startMeteredRunner } from './metered-runner.ts'

vi.setConfig({ testTimeout: 60_000 })

const faults: readonly (readonly [string, (redis: Redis, gateway: TestGateway) => Promise<unknown>])[] = [
  ['that is flushed', (redis) => redis.cli('flushall')],
  [
    'that is killed and comes back empty',
    async (redis, gateway) => {
      await redis.kill()
      expect(await ask(gateway, 20)).toEqual([])
      await until(
        () =>
          redis.restart().then(
            () => true,
            () => false,
          ),
        'it starts again',
        20_000,
      )
    },
  ],
  [
    'that stands still for a while',
    async (redis, gateway) => {
      redis.pause()
      expect(await ask(gateway, 20)).toEqual([])
      redis.resume()
    },
  ],
]

describe.skipIf(!redisAvailable)('the shares of models', () => {
  it.each(faults)('are the same before and after a Redis %s, within one point (scenario 34)', async (_, fault) => {
    await using redis = await startServer()
    await using runner = await startMeteredRunner(34)
    await using gateway = await startTestGateway({
      runners: [runner.url],
      layers: sharing,
      config: { store: { kind: 'redis', url: redis.url } },
    })
    // Some 18,000 tokens: the longest call is less than a point of them.
    expect(await ask(gateway, 250)).toEqual([])
    const before = runner.shares()
    await fault(redis, gateway)
    expect(await ask(gateway, 250)).toEqual([])
    expectSame(before, runner.shares())
  })
})
