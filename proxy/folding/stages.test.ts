import { describe, expect, it } from 'vitest'
import { layers } from '../../plugins/index.ts'
import { sayStage } from '../../plugins/stage.ts'
import { createManualClock } from '../../test/support/clock.ts'
import { createStages, type StageChange, type Stages } from './stages.ts'

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

function stages(configured = {}): { stages: Stages; heard: StageChange[] } {
  const heard: StageChange[] = []
  const made = createStages(createManualClock(), (change) => heard.push(change))
  made.configure({ layers: all, stages: configured, steps })
  return { stages: made, heard }
}

const said = ({ stages: made }: { stages: Stages }): string[] => all.map(({ name }) => sayStage(made.of(name)))

describe('a layer on its way', () => {
  it('goes shadow, then each share in turn, then native', () => {
    const made = stages()
    const path = Array.from({ length: 6 }, () => {
      made.stages.ask('promote', 'postprocess', by)
      return sayStage(made.stages.of('postprocess'))
    })
    expect(path).toEqual(['shadow', 'canary 1 %', 'canary 10 %', 'canary 50 %', 'canary 100 %', 'native'])
    expect(made.heard.every(({ actor, reason }) => actor === 'ada' && reason === 'a test')).toBe(true)
    expect(() => made.stages.ask('promote', 'postprocess', by)).toThrow('postprocess is native already')
  })

  it('may not go where the flow of facts forbids it, and then nothing changes', () => {
    const made = stages()
    const { version } = made.stages
    expect(() => made.stages.ask('shadow', 'auth', by)).toThrow(/auth cannot move while rate-limit stays/)
    expect(() => made.stages.ask('canary', 'postprocess', by)).toThrow('a canary begins from shadow')
    expect(() => made.stages.ask('shadow', 'nobody', by)).toThrow('not configured')
    expect([made.stages.version, made.heard]).toEqual([version, []])
  })

  it('does not go on while it is held', () => {
    const made = stages({ postprocess: 'shadow' })
    made.stages.ask('hold', 'postprocess', by)
    expect(() => made.stages.ask('promote', 'postprocess', by)).toThrow('on hold')
    made.stages.ask('resume', 'postprocess', by)
    expect(made.stages.ask('promote', 'postprocess', by)).toHaveLength(1)
  })
})

describe('rollback', () => {
  const native = { postprocess: 'native', prompt: 'native', routing: 'native', cache: 'native', 'rate-limit': 'native' }

  it('takes the closure back in one transition: the blamed one is rolled back, the others are in the gateway', () => {
    const made = stages(native)
    made.stages.ask('rollback', 'routing', by)
    expect(said(made)).toEqual(['gateway', 'gateway', 'gateway', 'rolled-back', 'native', 'native'])
  })

  it('of all leaves nothing at the runner', () => {
    const made = stages(native)
    made.stages.rollbackAll(by)
    expect(new Set(said(made))).toEqual(new Set(['gateway', 'rolled-back']))
  })

  it('may be followed by a new start from shadow', () => {
    const made = stages({ postprocess: 'native' })
    made.stages.ask('rollback', 'postprocess', by)
    made.stages.ask('shadow', 'postprocess', by)
    expect(sayStage(made.stages.of('postprocess'))).toBe('shadow')
  })
})

describe('a configuration', () => {
  it('moves only layers whose configured stage is another than before', () => {
    const made = stages({ postprocess: 'shadow' })
    made.stages.ask('promote', 'postprocess', by)
    made.stages.configure({ layers: all, stages: { postprocess: 'shadow' }, steps })
    expect(sayStage(made.stages.of('postprocess'))).toBe('canary 1 %')
    made.stages.configure({ layers: all, stages: { postprocess: 'native' }, steps })
    expect(sayStage(made.stages.of('postprocess'))).toBe('native')
  })

  it('that is not legal is refused', () => {
    expect(() => stages({ auth: 'native' })).toThrow(/auth cannot move/)
  })
})
