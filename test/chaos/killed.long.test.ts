import { describe, expect, it } from 'vitest'
import { until } from '../support/gate.ts'
import { redisAvailable, startServer } from '../support/redis.ts'
import { type GatewayProcess, startFleet } from './killed.ts'

const whole = ['shadow', 'canary 10 %', 'canary 50 %', 'canary 100 %', 'native']

describe.skipIf(!redisAvailable)('three gateways, of which the one that leads is killed at every step', () => {
  it('move a layer to native and take it back, each step once, and serve on (scenario 9)', async () => {
    await using redis = await startServer()
    await using fleet = await startFleet(3, redis)
    const path: string[] = []
    for (const [round, stage] of [...whole, 'rolled-back'].entries()) {
      const leader = await fleet.leader()
      const verb = stage === 'rolled-back' ? 'rollback' : stage === 'canary 10 %' ? 'canary' : 'promote'
      const asking = fleet.ask(leader, verb).catch(() => 0)
      // Ever a little later in the step.
      await new Promise((next) => setTimeout(next, round * 4))
      await leader.child.kill()
      fleet.gateways.splice(fleet.gateways.indexOf(leader), 1)
      await asking
      const grown = await fleet.grow()
      const done = async (): Promise<boolean> => (await fleet.path(grown)).at(-1) === stage
      for (;;) {
        await until(async () => (await fleet.path(grown)).length >= path.length, 'it knows where things are', 10_000)
        if (await done()) break
        await until(
          async () => [200, 409].includes(await fleet.ask(await fleet.leader(), verb).catch(() => 0)),
          verb,
          30_000,
        )
      }
      path.push(stage)
      expect(await fleet.path(grown)).toEqual(path)
      for (const gateway of fleet.gateways as GatewayProcess[]) expect(await fleet.chat(gateway)).toBe(200)
    }
  })
})
