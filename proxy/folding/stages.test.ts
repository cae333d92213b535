import { describe, expect, it } from 'vitest'
import { layers } from '../../plugins/index.ts'
import { sayStage } from '../../plugins/stage.ts'
import { createManualClock } from '../../test/support/clock.ts'
import { weightsAt } from './stage-plan.ts'
import { createStages, type StageChange, type Stages } from './stages.ts'
import { createEmbeddedState } from './state/embedded.ts'
import { createReplica } from './state/replica.ts'
import { turnSwitch } from './state/switches.ts'

const all = layers.map(({ name, reads, writes, answers, rewrites }) => ({
  name,
  reads,
  writes,
  answers,
  rewrites,
  stays: undefined,
}))
const by = { actor: 'ada', reason: 'a test' }
const steps = [1, 10, 50, 100]
const tiers = ['internal', 'free', 'standard', 'pro', 'vip']

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }

async function stages(configured = {}): Promise<{ stages: Stages; heard: StageChange[] }> {
  const heard: StageChange[] = []
  const clock = createManualClock()
  const made = createStages({
    state: createEmbeddedState({ replica: createReplica('r1', clock.now()), log: silent }),
    clock,
    artifactOf: () => 'a',
    changed: (change) => void heard.push(change),
  })
  await made.configure({ layers: all, stages: configured, steps, tiers })
  return { stages: made, heard }
}

const said = ({ stages: made }: { stages: Stages }): string[] => all.map(({ name }) => sayStage(made.of(name)))

describe('a configured stage', () => {
  async function unled() {
    const clock = createManualClock()
    const state = createEmbeddedState({ replica: createReplica('r1', clock.now()), log: silent })
    let leads = false
    const made = createStages({
      state: {
        ...state,
        get known() {
          return state.known
        },
        lead: () => (leads ? state.lead() : undefined),
      },
      clock,
      artifactOf: () => 'a',
      changed: () => undefined,
    })
    await made.configure({ layers: all, stages: { postprocess: 'native' }, steps, tiers })
    return { clock, stages: made, elect: () => (leads = true) }
  }

  it('that nobody could write yet is written by whoever leads first', async () => {
    const { stages: made, elect } = await unled()
    await made.catchUp()
    expect(sayStage(made.of('postprocess'))).toBe('gateway')
    elect()
    await made.catchUp()
    expect(sayStage(made.of('postprocess'))).toBe('native')
  })

  it('that came while everything was frozen comes home at once, and goes out when that is over', async () => {
    const { stages: made } = await stages({ postprocess: 'native' })
    const turn = (on: boolean) => turnSwitch(made.state, { name: 'freeze', on, by, now: 1 })
    await turn(true)
    await expect(made.ask('promote', 'prompt', by)).rejects.toThrow('frozen by ada')
    await made.configure({ layers: all, stages: { prompt: 'native', postprocess: 'native' }, steps, tiers })
    await made.catchUp()
    expect(sayStage(made.of('prompt'))).toBe('gateway')
    await turn(false)
    await made.catchUp()
    expect(sayStage(made.of('prompt'))).toBe('native')
    await turn(true)
    await made.configure({ layers: all, stages: {}, steps, tiers })
    expect(['prompt', 'postprocess'].map((name) => sayStage(made.of(name)))).toEqual(['gateway', 'gateway'])
    expect((await made.history(20)).filter(({ layer }) => layer === '*')).toMatchObject([
      { from: 'moving', to: 'frozen' },
      { from: 'frozen', to: 'moving' },
      { from: 'moving', to: 'frozen' },
    ])
  })

  it('is not brought back a minute later, nor over what was done in the meantime', async () => {
    const late = await unled()
    late.clock.advance(61_000)
    late.elect()
    await late.stages.catchUp()
    expect(sayStage(late.stages.of('postprocess'))).toBe('gateway')
    const moved = await unled()
    moved.elect()
    await moved.stages.ask('shadow', 'postprocess', by)
    await moved.stages.catchUp()
    expect(sayStage(moved.stages.of('postprocess'))).toBe('shadow')
  })
})

describe('a layer on its way', () => {
  it('goes shadow, then each share in turn, then native', async () => {
    const made = await stages()
    const path: string[] = []
    for (let step = 0; step < 6; step++) {
      await made.stages.ask('promote', 'postprocess', by)
      path.push(sayStage(made.stages.of('postprocess')))
    }
    expect(path).toEqual(['shadow', 'canary 1 %', 'canary 10 %', 'canary 50 %', 'canary 100 %', 'native'])
    expect(made.heard.every(({ actor, reason }) => actor === 'ada' && reason === 'a test')).toBe(true)
    await expect(made.stages.ask('promote', 'postprocess', by)).rejects.toThrow('postprocess is native already')
  })

  it('may not go where the flow of facts forbids it, and then nothing changes', async () => {
    const made = await stages()
    const { version } = made.stages
    await expect(made.stages.ask('shadow', 'auth', by)).rejects.toThrow(/auth cannot move while rate-limit stays/)
    await expect(made.stages.ask('canary', 'postprocess', by)).rejects.toThrow('a canary begins from shadow')
    await expect(made.stages.ask('shadow', 'nobody', by)).rejects.toThrow('not configured')
    expect([made.stages.version, made.heard]).toEqual([version, []])
  })

  it('does not go on while it is held', async () => {
    const made = await stages({ postprocess: 'shadow' })
    await made.stages.ask('hold', 'postprocess', by)
    await expect(made.stages.ask('promote', 'postprocess', by)).rejects.toThrow('on hold')
    await made.stages.ask('resume', 'postprocess', by)
    expect((await made.stages.ask('promote', 'postprocess', by)).changes).toHaveLength(1)
  })

  it('whose steps were changed in the middle of a canary does not go on; in shadow the new ones count', async () => {
    const made = await stages({ postprocess: 'shadow' })
    const planned = (next: readonly number[]) =>
      made.stages.configure({ layers: all, stages: { postprocess: 'shadow' }, steps: next, tiers })
    await planned([5, 100])
    await made.stages.ask('promote', 'postprocess', by)
    expect(sayStage(made.stages.of('postprocess'))).toBe('canary 5 %')
    await planned([50, 100])
    const words = 'folding.policy.stages was 5,100 when it began and is 50,100 now'
    await expect(made.stages.ask('promote', 'postprocess', by)).rejects.toThrow(words)
    await planned([5, 100])
    await made.stages.ask('promote', 'postprocess', by)
    expect(sayStage(made.stages.of('postprocess'))).toBe('canary 100 %')
  })

  it('keeps its units from step to step, and draws others in another rollout', async () => {
    const made = await stages({ postprocess: 'shadow' })
    const first = made.stages.of('postprocess')
    await made.stages.ask('promote', 'postprocess', by)
    expect(made.stages.of('postprocess')).toMatchObject({ salt: first.salt, rollout: first.rollout })
    await made.stages.ask('rollback', 'postprocess', by)
    await made.stages.ask('shadow', 'postprocess', by)
    expect(made.stages.of('postprocess').salt).not.toBe(first.salt)
  })
})

describe('rollback', () => {
  const native = { postprocess: 'native', prompt: 'native', routing: 'native', cache: 'native', 'rate-limit': 'native' }

  it('takes the closure back in one transition: the blamed one is rolled back, the others are in the gateway', async () => {
    const made = await stages(native)
    const { confirmed } = await made.stages.ask('rollback', 'routing', by)
    expect(said(made)).toEqual(['gateway', 'gateway', 'gateway', 'rolled-back', 'native', 'native'])
    expect(confirmed).toMatchObject({ confirmed: 1, of: 1 })
  })

  it('of all leaves nothing at the runner', async () => {
    const made = await stages(native)
    await made.stages.rollbackAll(by)
    expect(new Set(said(made))).toEqual(new Set(['gateway', 'rolled-back']))
  })

  it('is in force before it is promised', async () => {
    const made = await stages(native)
    const promised = made.stages.ask('rollback', 'routing', by)
    expect(said(made)).toEqual(['gateway', 'gateway', 'gateway', 'rolled-back', 'native', 'native'])
    await promised
  })

  it('may be followed by a new start from shadow', async () => {
    const made = await stages({ postprocess: 'native' })
    await made.stages.ask('rollback', 'postprocess', by)
    await made.stages.ask('shadow', 'postprocess', by)
    expect(sayStage(made.stages.of('postprocess'))).toBe('shadow')
  })
})

describe('a configuration', () => {
  it('moves only layers whose configured stage is another than before', async () => {
    const made = await stages({ postprocess: 'shadow' })
    await made.stages.ask('promote', 'postprocess', by)
    await made.stages.configure({ layers: all, stages: { postprocess: 'shadow' }, steps, tiers })
    expect(sayStage(made.stages.of('postprocess'))).toBe('canary 1 %')
    await made.stages.configure({ layers: all, stages: { postprocess: 'native' }, steps, tiers })
    expect(sayStage(made.stages.of('postprocess'))).toBe('native')
  })

  it('that is not legal is refused', async () => {
    await expect(stages({ auth: 'native' })).rejects.toThrow(/auth cannot move/)
  })
})

describe('the shares of tiers', () => {
  const plan = { steps, tiers }
  it.each([
    [1, { '-': 100, internal: 10_000, free: 100, standard: 100, pro: 0, vip: 0 }],
    [10, { '-': 1_000, internal: 10_000, free: 1_000, standard: 1_000, pro: 500, vip: 0 }],
    [50, { '-': 5_000, internal: 10_000, free: 5_000, standard: 5_000, pro: 5_000, vip: 0 }],
    [100, { '-': 9_800, internal: 10_000, free: 9_800, standard: 9_800, pro: 9_800, vip: 500 }],
  ])('at %d %%', (percent, weights) => expect(weightsAt(percent, plan)).toEqual(weights))

  it('the last tier comes in three steps of its own', async () => {
    const made = await stages({ postprocess: 'shadow' })
    for (let step = 0; step < 4; step++) await made.stages.ask('promote', 'postprocess', by)
    const shares: unknown[] = []
    do shares.push(made.stages.of('postprocess').weights?.['vip'])
    while (await made.stages.moreVip('postprocess', by))
    expect(shares).toEqual([500, 2_500, 10_000])
  })
})
