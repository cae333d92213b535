import { describe, expect, it, vi } from 'vitest'
import { createCanary, type World } from './world.ts'
import { badAt, calm, inCanary, type Outcome, type Traffic } from './world-traffic.ts'

vi.setConfig({ testTimeout: 60_000 })
const minute = 60_000
const hour = 60 * minute
const bad: Outcome = { code: 500 }
const kinds = ({ said }: World): string[] => [
  ...new Set(said.map(({ kind, fuse }) => (fuse ? `${kind} ${fuse}` : kind))),
]
const isBack = (world: World) => (): boolean => world.stage() === 'rolled-back'

describe('errors that come and go', () => {
  it('around what is allowed take nothing back, and what was taken back is not tried again (scenario 1)', async () => {
    const paths: string[] = []
    for (let seed = 1; seed <= 3; seed++) {
      const rate = (at: number): number => (Math.floor(at / (5 * minute)) % 2 === 0 ? 0.0005 : 0.0015)
      const ends: Traffic['ends'] = (call) => badAt(call.arm === 'canary' ? rate(call.at) : 0.001, call)
      const world = await createCanary({ replicas: ['a'], seed, everyMs: 30_000, traffic: { ...calm, ends } })
      await world.run(20 * minute)
      paths.push(world.watch.path.join(' '))
    }
    // F4 and F11 may each err once in a hundred.
    expect(paths.filter((path) => path.includes('rolled-back')).length).toBeLessThanOrEqual(1)
    for (const path of paths) expect(path).not.toMatch(/rolled-back ./)
  })

  it.each([
    [0.5, ['a', 'b', 'c']],
    [0.1, ['a']],
  ])(
    'at a rate of %d for 30 s every five minutes are found within the second time (scenario 2)',
    async (rate, replicas) => {
      const burst = (at: number): boolean => at % (5 * minute) < 30_000 && at > minute
      const ends = inCanary((call) => (burst(call.at) ? badAt(rate, call) : {}))
      const world = await createCanary({ replicas, everyMs: 5_000, traffic: { ...calm, ends } })
      expect(await world.until(isBack(world), 11 * minute)).toBe(true)
      expect(kinds(world).filter((kind) => !/^rollback F(3|4|11)$/.test(kind))).toEqual([])
    },
  )
})

describe('too little traffic', () => {
  it('none at all is a hold that is said once, and nothing else, for as long as it lasts (scenario 4)', async () => {
    const world = await createCanary({ replicas: ['a'], everyMs: 10 * minute, traffic: { ...calm, rate: 0 } })
    await world.run(25 * hour)
    expect(world.said).toMatchObject([{ kind: 'hold', reason: 'no data: not a single call' }])
    expect(world.stage()).toBe('canary 10 %')
  })

  it('a call in twenty seconds decides nothing in a day and is held then, and three failures still take it back (scenario 5)', async () => {
    const world = await createCanary({ replicas: ['a'], everyMs: 10 * minute, traffic: { ...calm, rate: 0.05 } })
    await world.run(25 * hour)
    expect(world.said).toMatchObject([
      { kind: 'hold', reason: expect.stringContaining('the time for this step is up') },
    ])
    expect(world.stage()).toBe('canary 10 %')
    const before = world.watch.calls.canary
    world.traffic = { ...world.traffic, ends: inCanary(() => bad) }
    expect(await world.until(isBack(world), 4 * hour)).toBe(true)
    expect(world.said.at(-1)?.fuse).toBe('F3')
    // Three, or up to five where they are all of one conversation.
    expect(world.watch.calls.canary - before).toBeLessThanOrEqual(5)
  })
})

describe('one bad place among good ones', () => {
  const steps = [50, 100]
  const ten = [...'abcdefghij']
  const named = (count: number): string[] => ten.slice(0, count).map((name) => `gpu-${name}`)

  it('a gateway of ten is taken out after three calls, and the layer goes on (scenario 6)', async () => {
    const traffic = { ...calm, units: 60, runners: named(10) }
    const world = await createCanary({ replicas: ten, steps, everyMs: 10_000, pieceMs: 1_000, traffic })
    await world.run(60_000)
    const failing = { calls: 0 }
    world.traffic = { ...traffic, ends: failsAt(({ replica }) => replica === 'j', failing) }
    await world.run(70_000)
    expect([world.stage('a'), world.stage('j')]).toEqual(['canary 50 %', 'canary 50 %'])
    expect(failing.calls).toBeLessThanOrEqual(5)
    const { rollout = '' } = world.replica('j').stages.of('postprocess')
    expect(ten.filter((id) => world.replica(id).ejections.has(rollout, 'gpu-a'))).toEqual(['j'])
  })

  it('a runner of eight is taken out behind every gateway, and the layer goes on (scenario 7)', async () => {
    const traffic = { ...calm, rate: 40, runners: named(8) }
    const world = await createCanary({ replicas: ['a', 'b'], steps, everyMs: 5_000, pieceMs: 250, traffic })
    await world.run(1.5 * minute)
    const failing = { calls: 0 }
    world.traffic = { ...traffic, ends: failsAt(({ runner }) => runner === 'gpu-h', failing) }
    await world.run(2 * minute)
    expect(world.stage()).toBe('canary 50 %')
    expect(failing.calls).toBeLessThanOrEqual(7)
    const { rollout = '' } = world.replica('a').stages.of('postprocess')
    for (const { ejections } of world.replicas())
      expect(named(8).filter((runner) => ejections.has(rollout, runner))).toEqual(['gpu-h'])
  })
})

it('a client whose every call fails counts once a minute, and takes nothing back (scenario 8)', async () => {
  const traffic = { ...calm, rate: 60, units: 60, ends: inCanary(({ unit }) => (unit % 60 === 7 ? bad : {})) }
  const world = await createCanary({ replicas: ['a'], steps: [100], everyMs: 5_000, traffic })
  await world.run(4 * minute)
  const { evidence, decision } = world.replica('a').controller.decisionOn('postprocess') ?? {}
  const counted = evidence?.cells.reduce((sum, { step, canary }) => sum + (step === 'S4' ? canary.bad : 0), 0)
  // Some 240 of its calls have failed.
  expect(counted).toBeGreaterThanOrEqual(4)
  expect(counted).toBeLessThanOrEqual(6)
  expect([decision?.kind, world.stage()]).toEqual(['continue', 'canary 100 %'])
})

it('streams that never begin are found by their age, and are not taken for healthy (scenario 20)', async () => {
  const traffic = { ...calm, ends: inCanary(() => ({ hangs: true })) }
  const world = await createCanary({ everyMs: 2_000, traffic })
  expect(await world.until(isBack(world), 3 * minute)).toBe(true)
  expect(kinds(world)).toEqual(['rollback F6'])
})

it('calls that end without a word are noticed: first held, then taken back (scenario 21)', async () => {
  const world = await createCanary({ replicas: ['a'], everyMs: 10_000 })
  await world.run(2 * minute)
  world.traffic = { ...calm, ends: inCanary(({ random }) => ({ unheard: random() < 0.3 })) }
  expect(await world.until(isBack(world), 5 * minute)).toBe(true)
  expect(kinds(world)).toEqual(['hold F7', 'rollback F7'])
})

it('a gateway that draws others than it should makes every figure worthless: a hold (scenario 22)', async () => {
  const salt = (replica: string): string | undefined => (replica === 'b' ? 'another' : undefined)
  const world = await createCanary({ everyMs: 10_000, traffic: { ...calm, rate: 40, units: 2_000, salt } })
  await world.run(3 * minute)
  expect([kinds(world), world.stage()]).toEqual([['hold F8'], 'canary 10 %'])
})

describe('a template whose bytes have changed, so that no prefix is in any cache', () => {
  const coldFor = (calls: number, taken = { calls: 0 }): Traffic['ends'] =>
    inCanary(() => (++taken.calls <= calls ? { firstByteMs: 4_000 } : {}))
  it('is slow at first, and those calls are left out (scenario 31)', async () => {
    const world = await createCanary({ replicas: ['a'], everyMs: 10_000, traffic: { ...calm, ends: coldFor(45) } })
    await world.run(13 * minute)
    expect(world.watch.path.slice(0, 3)).toEqual(['shadow', 'canary 10 %', 'canary 50 %'])
  })
  it('and stays slow, fails for it (scenario 31)', async () => {
    const world = await createCanary({ replicas: ['a'], everyMs: 10_000, traffic: { ...calm, ends: coldFor(1e6) } })
    await world.run(5 * minute)
    expect(world.said.at(-1)?.reason).toContain('M4, slow calls')
    expect(world.watch.path).not.toContain('canary 50 %')
  })
})

function failsAt(
  is: (call: { replica: string; runner: string }) => boolean,
  failing: { calls: number },
): Traffic['ends'] {
  return inCanary((call) => {
    if (!is(call)) return {}
    failing.calls++
    return bad
  })
}
