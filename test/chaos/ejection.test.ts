import { describe, expect, it } from 'vitest'
import type { DecisionRecord } from '../../proxy/folding/rollout/decision-record.ts'
import type { Fault } from '../e2e/faulty-runner.ts'
import { layerStates } from '../e2e/folding-rig.ts'
import { until } from '../support/gate.ts'
import { redisAvailable, startServer } from '../support/redis.ts'
import { type Farm, startFarm } from './farm.ts'

/** Everything that bears a context fails. */
const broken: Fault = ({ path, headers }) =>
  path.startsWith('/v1/') && headers['x-execution-context']
    ? { status: 500, body: '{"error":{"message":"broken"}}' }
    : undefined

/** Calls through a gateway, one after the other; how often each state of the layer came, and each status. */
async function play(farm: Farm, gateway: number, calls: number): Promise<Record<string, number>> {
  const seen: Record<string, number> = {}
  for (let call = 0; call < calls; call++) {
    const response = await farm.chat(gateway)
    await response.text()
    const state = layerStates(response)['postprocess'] ?? ''
    for (const key of [String(response.status), state]) seen[key] = (seen[key] ?? 0) + 1
  }
  return seen
}

/** How many calls of the canary a gateway knows of. */
async function endedAt({ gateways }: Farm, gateway: number): Promise<number> {
  const answer = await fetch(`${gateways[gateway]?.adminUrl}/-/evidence?layer=postprocess`)
  const { layers } = (await answer.json()) as { layers: Record<string, DecisionRecord> }
  return (layers['postprocess']?.evidence.cells ?? []).reduce((sum, { canary }) => sum + canary.ended, 0)
}

const atRunner = 'evaporation-accelerating;by=runner'
const failed = 'fallback;by=gateway;reason=runner-error'
const takenOut = 'fallback;by=gateway;reason=operator-disabled'
/** Three in a row, and what came while that was being looked at. */
const expectFew = (calls = 0): void => {
  expect(calls).toBeGreaterThanOrEqual(3)
  expect(calls).toBeLessThanOrEqual(5)
}
const all = [0, 1, 2]
const stages = (farm: Farm): string[] => all.map((gateway) => farm.stageAt(gateway))

describe.skipIf(!redisAvailable)('three gateways over six runners', () => {
  it('take out a bad runner and a bad gateway after three calls each, and go on; a second bad gateway is too much; no caller notices (scenario 6) (scenario 7)', async () => {
    await using redis = await startServer()
    await using farm = await startFarm({ gateways: 3, runners: 6, store: { kind: 'redis', url: redis.url } })
    await until(() => stages(farm).every((stage) => stage === 'canary'), 'all are in canary', 15_000)
    expect(await play(farm, 0, 6)).toEqual({ 200: 6, [atRunner]: 6 })
    for (const gateway of [1, 2]) expect(await play(farm, gateway, 18)).toEqual({ 200: 18, [atRunner]: 18 })
    await until(async () => (await endedAt(farm, 0)) === 42, 'the others are heard', 8_000)

    for (const gateway of all) farm.way(gateway, 5).plant(broken)
    const during = await play(farm, 1, 24)
    expect(during[200]).toBe(24)
    expectFew(during[failed])
    expect((during[takenOut] ?? 0) + (during[atRunner] ?? 0)).toBe(24 - (during[failed] ?? 0))
    // It is well again, and stays out for the rest of the rollout.
    for (const gateway of all) farm.way(gateway, 5).plant(undefined)
    expect(await play(farm, 1, 6)).toEqual({ 200: 6, [atRunner]: 5, [takenOut]: 1 })

    for (let runner = 0; runner < 6; runner++) farm.way(0, runner).plant(broken)
    const broke = await play(farm, 0, 10)
    expect(broke[200]).toBe(10)
    expectFew(broke[failed])
    expect(broke[takenOut]).toBe(10 - (broke[failed] ?? 0))
    expect(await play(farm, 2, 6)).toMatchObject({ 200: 6 })
    expect(stages(farm)).toEqual(['canary', 'canary', 'canary'])

    for (let runner = 0; runner < 6; runner++) farm.way(2, runner).plant(broken)
    expect(await play(farm, 2, 8)).toMatchObject({ 200: 8 })
    await until(() => stages(farm).every((stage) => stage === 'rolled-back'), 'all are back', 5_000)
    expect(await play(farm, 0, 2)).toEqual({ 200: 2, 'active;by=gateway': 2 })
  }, 60_000)
})
