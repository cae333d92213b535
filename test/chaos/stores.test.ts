import { describe, expect, it, vi } from 'vitest'
import { shareOf } from '../../plugins/stage.ts'
import { createCanary, createWorld, type World } from './world.ts'
import { movable, movingLayer, quick, type WorldReplica } from './world-replica.ts'
import type { Fate } from './world-store.ts'
import { calm, inCanary } from './world-traffic.ts'

vi.setConfig({ testTimeout: 60_000 })

const minute = 60_000
const by = { actor: 'ann', reason: 'a test' }
const still = { ...calm, rate: 0 }
const bad = inCanary(() => ({ code: 500 }))
const share = ({ stages }: WorldReplica): number => shareOf(stages.of(movingLayer), 'free')
const sharesOf = (world: World): number[] => world.replicas().map(share)
const rolloutAt = ({ stages }: WorldReplica): string | undefined => stages.of(movingLayer).rollout
const takenBack = (replica: WorldReplica) => replica.stages.ask('rollback', movingLayer, by)
const whole = ['shadow', 'canary 10 %', 'canary 50 %', 'canary 98 %', 'native']

describe('clocks that are wrong', () => {
  const walk = async (skews: Readonly<Record<string, number>>, steps: readonly (readonly [string, number])[] = []) => {
    const world = await createWorld({ everyMs: 5_000, steps: [50, 100] })
    for (const [id, ms] of Object.entries(skews)) world.replica(id).skewMs = ms
    await world.ask('shadow')
    await world.until(() => world.stage() === 'canary 50 %', 5 * minute)
    for (const [id, ms] of steps) {
      world.replica(id).skewMs = ms
      await world.run(20_000)
    }
    world.traffic = { ...calm, ends: bad }
    await world.until(() => world.stage() === 'rolled-back', minute)
    return [world.watch.path, [...new Set(world.said.map(({ kind }) => kind))]]
  }
  const right = [
    ['shadow', 'canary 50 %', 'rolled-back'],
    ['promote', 'rollback'],
  ]
  it('by five minutes, ahead and behind, come to the same (scenario 3)', async () => {
    expect(await walk({ a: 300_000, b: -300_000 })).toEqual(right)
    expect(await walk({ a: -300_000, c: 300_000 })).toEqual(right)
  })
  it('and that are put right in one step, forth and back, change nothing (scenario 3)', async () => {
    expect(
      await walk({}, [
        ['a', 300_000],
        ['b', -300_000],
        ['a', 0],
      ]),
    ).toEqual(right)
  })
})

describe('a leader that goes in the middle of a step', () => {
  /** Its so many-th question to the store, from the step on, is its last: it comes to nothing, or is answered to nobody. */
  async function crashing(question: number, fate: Fate): Promise<World> {
    const world = await createWorld({ traffic: still })
    for (const verb of ['shadow', 'canary'] as const) await world.ask(verb)
    const leader = world.leader() as WorldReplica
    let asked = 0
    world.store.fate = ({ replica }) => {
      if (replica !== leader.id) return 'done'
      if (asked++ < question) return leader.alive ? 'done' : 'lost'
      leader.crash()
      return asked === question + 1 ? fate : 'lost'
    }
    void leader.stages.ask('promote', movingLayer, by).catch(() => undefined)
    await world.until(() => !leader.alive && world.leader() !== undefined, minute)
    return world
  }
  it.each(['lost', 'lost-after'] as const)(
    'at every question it asks (%s) leaves the step done or undone, and the next goes on from there (scenario 9)',
    async (fate) => {
      const reached = new Set<string>()
      for (let question = 0; question < 6; question++) {
        const world = await crashing(question, fate)
        reached.add(world.watch.path.join())
        for (let step = 0; step < 4; step++) if (world.watch.path.at(-1) !== 'native') await world.ask('promote')
        // Every step once, and none left out.
        expect(world.watch.path).toEqual(whole)
      }
      expect([...reached]).toContain(whole.slice(0, fate === 'lost' ? 2 : 3).join())
    },
  )

  it('and whose write arrives half a minute later is refused (scenario 10)', async () => {
    const world = await createWorld({ traffic: still })
    for (const verb of ['shadow', 'canary'] as const) await world.ask(verb)
    const slow = world.leader() as WorldReplica
    world.store.fate = ({ replica, script }) =>
      replica === slow.id && script === 'stages-transition' ? { late: 30_000 } : 'done'
    const late = slow.stages.ask('promote', movingLayer, by).then(
      () => 'done',
      (reason: Error) => reason.message,
    )
    await world.run(1_000)
    slow.pause()
    await world.until(() => world.leader() !== undefined && world.leader() !== slow, minute)
    expect(world.watch.path.at(-1)).toBe('canary 10 %')
    await world.leader()?.stages.ask('promote', movingLayer, by)
    await world.run(30_000)
    slow.resume()
    await world.run(3_000)
    expect(await late).toContain('another replica leads by now')
    expect(world.watch.path).toEqual(whole.slice(0, 3))
  })
})

describe('a store that loses what was written', () => {
  it('and a trip with it is told again by whoever heard of it, before anybody serves it (scenario 11)', async () => {
    const world = await createCanary({ traffic: still })
    world.store.save()
    const [a, b] = world.replicas() as [WorldReplica, WorldReplica]
    const rollout = rolloutAt(a) as string
    void takenBack(b)
    await world.run(200)
    world.store.loseSinceSave()
    world.watch.lost()
    expect(world.store.stored?.tripped).toEqual({})
    await world.run(2_000)
    expect(world.store.stored?.tripped).toHaveProperty(rollout)
    expect([sharesOf(world), world.store.stored?.layers[movingLayer]?.stage]).toEqual([[0, 0, 0], 'rolled-back'])
    await world.start('d')
    await world.run(1_000)
    expect(share(world.replica('d'))).toBe(0)
  })

  it('everything, is told what was known, and nothing is promoted until a person has looked (scenario 12)', async () => {
    const world = await createCanary({ traffic: still })
    world.store.loseAll()
    world.watch.lost()
    await world.run(3_000)
    expect(sharesOf(world)).toEqual([1_000, 1_000, 1_000])
    for (const { stages } of world.replicas()) expect(stages.state.known.hold).toContain('came back empty')
  })
})

describe('a store that is away', () => {
  it('for half a minute changes no share, and nothing is promoted (scenario 12)', async () => {
    const world = await createCanary({ pace: quick })
    world.store.down = true
    world.autopilot = true
    await world.run(30_000)
    expect([sharesOf(world), world.watch.path]).toEqual([[1_000, 1_000, 1_000], whole.slice(0, 2)])
    world.store.down = false
    expect(await world.until(() => world.watch.path.includes('canary 50 %'), minute)).toBe(true)
  })

  it('for five minutes drains shares from the second minute on, unit by unit, and they come back with it (scenario 12)', async () => {
    const world = await createCanary({ everyMs: 2_000, traffic: still })
    world.store.down = true
    const seen: number[] = []
    for (let second = 0; second < 300; second += 10) {
      await world.run(10_000)
      seen.push(Math.max(...sharesOf(world)))
    }
    expect(seen).toEqual(seen.toSorted((a, b) => b - a))
    expect([seen[4], seen.at(-1)]).toEqual([1_000, 0])
    expect(seen[8]).toBeGreaterThan(400)
    expect(seen[8]).toBeLessThan(600)
    world.store.down = false
    await world.run(6_000)
    expect(sharesOf(world)).toEqual([1_000, 1_000, 1_000])
  })

  it('takes nothing back that is native, and stops nobody who takes back (scenario 12)', async () => {
    const world = await createCanary({ everyMs: 2_000, traffic: still })
    for (let step = 0; step < 3; step++) await world.ask('promote')
    expect(world.stage()).toBe('native')
    world.store.down = true
    await world.run(5 * minute)
    expect(world.replicas().map(({ id }) => world.stage(id))).toEqual(['native', 'native', 'native'])
    void takenBack(world.replica('b'))
    expect(world.stage('b')).toBe('rolled-back')
    world.store.down = false
    await world.run(4_000)
    expect(world.replicas().map(({ id }) => world.stage(id))).toEqual(['rolled-back', 'rolled-back', 'rolled-back'])
  })
})

describe('a rollout', () => {
  it('that was native is taken back all the same, for good; the next one begins in shadow (scenario 23)', async () => {
    const world = await createCanary({ traffic: still })
    for (let step = 0; step < 3; step++) await world.ask('promote')
    const before = rolloutAt(world.replica('a'))
    await world.ask('rollback')
    expect(sharesOf(world)).toEqual([0, 0, 0])
    await world.ask('shadow')
    expect(rolloutAt(world.replica('a'))).not.toBe(before)
    expect(world.watch.path).toEqual([...whole, 'rolled-back', 'shadow'])
  })

  it('on hold is taken back when it fails (scenario 24)', async () => {
    const world = await createCanary({ everyMs: 2_000 })
    await world.ask('hold')
    world.traffic = { ...calm, ends: bad }
    expect(await world.until(() => world.stage() === 'rolled-back', minute)).toBe(true)
  })

  it('is judged by what was fixed when its step began, and a rule that ignores differences keeps it from going on (scenario 25)', async () => {
    const now = { pace: quick, ignores: 0 }
    const world = await createCanary({
      everyMs: 5_000,
      pace: (constants) => now.pace(constants),
      ignores: () => now.ignores,
    })
    world.autopilot = false
    await world.run(10_000)
    now.pace = (constants) => ({ ...quick(constants), mostMs: 0 })
    await world.run(20_000)
    expect(world.said.filter(({ kind }) => kind === 'hold')).toEqual([])
    Object.assign(now, { pace: quick, ignores: 1 })
    world.autopilot = true
    expect(await world.until(() => world.watch.path.includes('canary 50 %'), 3 * minute)).toBe(true)
    await world.run(2 * minute)
    expect(world.watch.path).toEqual(whole.slice(0, 3))
    now.ignores = 0
    expect(await world.until(() => world.watch.path.includes('canary 98 %'), 3 * minute)).toBe(true)
  })

  it('is held when its steps are changed in the middle (scenario 25)', async () => {
    const world = await createCanary({ everyMs: 5_000 })
    await world.run(10_000)
    for (const { stages } of world.replicas())
      await stages.configure({ layers: movable, stages: {}, steps: [25, 100], tiers: [] })
    world.autopilot = true
    await world.run(2 * minute)
    expect(world.replica('b').stages.stateOf(movingLayer)).toMatchObject({ held: true, actor: 'foldgate' })
    expect(new Set(world.watch.path)).toEqual(new Set(whole.slice(0, 2)))
  })

  it('with half of the traffic is back everywhere within two seconds (scenario 27)', async () => {
    const world = await createCanary({ steps: [50, 100] })
    void takenBack(world.replica('c'))
    expect(share(world.replica('c'))).toBe(0)
    await world.run(2_000)
    expect(sharesOf(world)).toEqual([0, 0, 0])
  })

  it('goes on without a gateway that is gone for good (scenario 9)', async () => {
    const world = await createCanary({
      everyMs: 5_000,
      pace: (constants) => ({ ...quick(constants), needs: { ...quick(constants).needs, calls: 600 } }),
    })
    await world.run(10_000)
    world.replica('c').crash()
    await world.run(minute)
    expect(world.said.at(-1)).toMatchObject({ kind: 'hold', reason: 'blind: nothing heard of c' })
    expect(await world.until(() => world.watch.path.includes('canary 50 %'), 8 * minute)).toBe(true)
  })
})
