import { describe, expect, it } from 'vitest'
import { type Fault, startFaultyRunner } from './faulty-runner.ts'
import { type FoldingRig, startFoldingRig } from './folding-rig.ts'
import { stagesWith, viewOf } from './shadow-rig.ts'

const stream = { stream: true, stream_options: { include_usage: true } }

async function startCanary(share: number): Promise<FoldingRig & { plant(fault: Fault | undefined): void }> {
  const faulty = await startFaultyRunner('')
  const rig = await startFoldingRig({
    stages: stagesWith('postprocess', 'canary'),
    layers: { cache: undefined },
    front: faulty.leading,
    config: { folding: { policy: { stages: [share, 100] }, shadow: { endToEndSample: 0 } } },
  })
  return {
    ...rig,
    plant: faulty.plant,
    async [Symbol.asyncDispose]() {
      await rig[Symbol.asyncDispose]()
      await faulty[Symbol.asyncDispose]()
    },
  }
}

/** Puts a second role into every stream. */
const twoRoles: Fault = ({ path }) =>
  path.startsWith('/v1/')
    ? (answer) => {
        answer.body = (part) =>
          Buffer.from(part.toString('utf8').replaceAll('{"content"', '{"role":"assistant","content"'))
      }
    : undefined

describe('streams of a canary', () => {
  it('that break nothing are looked at, and go on byte for byte', async () => {
    await using rig = await startCanary(100)
    const one = await (await rig.chat({ ...stream, seed: 1 })).text()
    expect(one).toMatch(/"usage":\{.*data: \[DONE\]\n\n$/s)
    await (await rig.chat({ stream: true })).text()
    await (await rig.chat()).text()
    const { streams } = await viewOf(rig)
    expect(streams).toEqual({
      canary: { checked: 2, left: 0, partly: 0, broken: {} },
      control: { checked: 0, left: 0, partly: 0, broken: {} },
    })
  })

  it('that break what holds of every stream are counted by what they break, and go on all the same', async () => {
    await using rig = await startCanary(100)
    rig.plant(twoRoles)
    const response = await rig.chat(stream)
    expect(await response.text()).toContain('[DONE]')
    const { streams } = await viewOf(rig)
    expect(streams.canary).toMatchObject({ checked: 1, broken: { 'role-first/twice': 1 } })
  })

  it('are held against those beside it, which are looked at just as much', async () => {
    await using rig = await startCanary(1)
    rig.plant(twoRoles)
    for (const key of rig.keys) await (await rig.chat(stream, { authorization: `Bearer ${key}` })).text()
    const { streams } = await viewOf(rig)
    expect(streams.canary.checked + streams.control.checked).toBe(2)
    expect(streams.control.checked).toBeGreaterThan(0)
    expect(streams.control.broken).toEqual({ 'role-first/twice': streams.control.checked })
  })
})
