import { describe, expect, it } from 'vitest'
import { until } from '../support/gate.ts'
import { redisAvailable, startServer } from '../support/redis.ts'
import { type GatewayProcess, startFleet } from './killed.ts'

const whole = ['shadow', 'canary 10 %', 'canary 50 %', 'canary 100 %', 'native']

describe.skipIf(!redisAvailable)('gateways that are processes', () => {
  it('go on when the one that leads is killed in the middle of a step: the step is done or undone, and no later one is double (scenario 9)', async () => {
    await using redis = await startServer()
    await using fleet = await startFleet(2, redis)
    for (const stage of whole.slice(0, 2)) {
      const verb = stage === 'shadow' ? 'shadow' : 'canary'
      await until(async () => (await fleet.ask(await fleet.leader(), verb)) === 200, stage, 15_000)
    }
    const leader = await fleet.leader()
    // The write is on its way when its author goes.
    await redis.cli('client', 'pause', '400', 'write')
    const asking = fleet.ask(leader, 'promote').catch(() => 0)
    await new Promise(setImmediate)
    await leader.child.kill()
    fleet.gateways.splice(fleet.gateways.indexOf(leader), 1)
    await asking
    const [next] = fleet.gateways as [GatewayProcess]
    expect(await fleet.chat(next)).toBe(200)
    await until(async () => ['canary'].includes(await fleet.stage(next)), 'it knows where things are', 5_000)
    while ((await fleet.stage(next)) !== 'native')
      await until(
        async () => (await fleet.ask(await fleet.leader(), 'promote').catch(() => 0)) === 200,
        'a step',
        20_000,
      )
    expect(await fleet.path(next)).toEqual(whole)
    for (const gateway of fleet.gateways) {
      await until(async () => (await fleet.stage(gateway)) === 'native', 'all know', 3_000)
      expect(await fleet.chat(gateway)).toBe(200)
    }
  }, 90_000)
})
