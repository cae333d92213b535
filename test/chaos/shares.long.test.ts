import { describe, expect, it } from 'vitest'
import { until } from '../support/gate.ts'
import { startTestGateway } from '../support/gateway.ts'
import { redisAvailable } from '../support/redis.ts'
import { startRedisSentinel } from '../support/redis-groups.ts'
import { ask, expectSame, sharing, startMeteredRunner } from './metered-runner.ts'

describe.skipIf(!redisAvailable)('the shares of models', () => {
  it('are the same before and after another Redis has become the master, within one point, and no call fails meanwhile (scenario 34)', async () => {
    await using group = await startRedisSentinel()
    await using runner = await startMeteredRunner(35)
    const { name = '', addresses = [], master, replica } = group ?? {}
    const urls = addresses.map(({ host, port }) => `redis://${host}:${port}`)
    await using gateway = await startTestGateway({
      runners: [runner.url],
      layers: sharing,
      config: { store: { kind: 'redis', sentinel: { name, urls } } },
    })
    expect(await ask(gateway, 600)).toEqual([])
    const before = runner.shares()
    await master?.kill()
    const isMaster = async (): Promise<boolean> => (await group?.masterPort()) === replica?.port
    while (!(await isMaster())) expect(await ask(gateway, 20)).toEqual([])
    await until(isMaster, 'another master', 30_000)
    expect(await ask(gateway, 600)).toEqual([])
    expectSame(before, runner.shares())
  })
})
