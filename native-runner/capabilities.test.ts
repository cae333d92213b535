import { createServer } from 'node:http'
import { expect, it } from 'vitest'
import { storeSchema } from '../config/store.ts'
import { capabilitiesFault } from '../plugins/capabilities.ts'
import { redisAvailable, startRedis } from '../test/support/redis.ts'
import { startEcho } from './echo-fixture.ts'
import { capabilitiesOf, policyOf, rigKey, saying, startRig } from './execution.support.ts'
import { startRunner } from './runner.ts'

it('an instance says what it executes, under a boot id of its own', async () => {
  await using one = await startRig()
  await using two = await startRig()
  const [first, second] = [one.capabilities, two.capabilities]
  expect(capabilitiesFault(first)).toBeUndefined()
  expect(first).toMatchObject({
    versions: [1],
    runner: expect.stringMatching(/^foldgate-native\/\d/),
    boot: expect.stringMatching(/^b_[0-9a-f]{32}$/),
    state: 'local',
    placement: 'in-engine',
    engine: { name: 'echo' },
    keys: ['k1'],
    layers: { who: { version: 1 }, count: { version: 1 } },
    models: [{ id: 'echo', contextTokens: 8192 }],
    load: { running: 0, queued: 0 },
  })
  expect(first.layers).not.toHaveProperty('home')
  expect(second.boot).not.toBe(first.boot)
  expect(second.caps).toBe(first.caps)
})

it('the product’s own layers are offered as far as they can be executed', async () => {
  await using runner = await startEcho({ execution: { keys: [rigKey] } })
  expect(capabilitiesFault(await capabilitiesOf(runner))).toBeUndefined()
})

it('a runner before a server of others is beside its engine', async () => {
  const upstream = createServer((_request, response) => response.end('{"data":[{"id":"m"}]}'))
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  const { port } = upstream.address() as { port: number }
  {
    await using runner = await startRunner({ engine: 'openai', upstream: `http://127.0.0.1:${port}` })
    const { placement, engine, models } = await capabilitiesOf(runner)
    expect({ placement, engine, models }).toEqual({
      placement: 'beside-engine',
      engine: { name: 'openai', version: 'unknown' },
      models: [{ id: 'm', contextTokens: 0 }],
    })
  }
  upstream.closeAllConnections()
  upstream.close()
})

it.skipIf(!redisAvailable)('counters in a store of several are shared', async () => {
  await using redis = await startRedis()
  const store = storeSchema.parse({ kind: 'redis', url: redis?.url })
  await using one = await startRig({ execution: { store } })
  await using two = await startRig({ execution: { store } })
  expect(one.capabilities.state).toBe('shared')
  const policy = policyOf({ count: { limit: 1 } })
  expect((await one.chat(policy, saying('x'))).status).toBe(200)
  expect((await two.chat(policy, saying('x'))).status).toBe(429)
})
