import { describe, expect, it } from 'vitest'
import type { StageConstants } from '../../proxy/folding/rollout/stage-constants.ts'
import { type Fault, startFaultyRunner } from './faulty-runner.ts'
import { layerStates, startFoldingRig } from './folding-rig.ts'

/** The same gates, in a time and a number of calls that a test can wait for. */
const pace = (constants: StageConstants): StageConstants => {
  const { p99Ratio: _, ...needs } = constants.needs
  const few = { calls: 30, units: 1, tenants: 1, dwellMs: 0, perStratum: 1, strata: [], triples: 0 }
  const wide = { differences: 1, overQ95: 1, overQ99: 1, fallbacks: 1, failures: 1 }
  const errors = { ...constants.errors, p0: 0.05, p1: 0.5 }
  return { ...constants, errors, needs: { ...needs, ...few, ...wide } }
}

const inShare = { folding: { policy: { stages: [100] } } }
const say = (text: string): object => ({ messages: [{ role: 'user', content: text }] })
const contexts =
  (change: Exclude<ReturnType<Fault>, undefined>): Fault =>
  ({ path, headers }) =>
    path === '/v1/chat/completions' && headers['x-execution-context'] ? change : undefined

async function startFaulty(options: Parameters<typeof startFoldingRig>[0]) {
  const stack = new AsyncDisposableStack()
  const faulty = stack.use(await startFaultyRunner('http://127.0.0.1:9'))
  const rig = stack.use(await startFoldingRig({ ...options, front: (url) => faulty.leading(url) }))
  return { rig, faulty, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

describe('a layer in canary whose runner begins to fail', () => {
  it.each<[string, Fault]>([
    ['with errors', contexts({ status: 500, body: '{"error":{"message":"broken"}}' })],
    ['by not acknowledging what it did', contexts(({ headers }) => void delete headers['x-layer-ack'])],
  ])('%s comes back by itself, and no caller notices', async (_, fault) => {
    await using started = await startFaulty({ stages: { postprocess: 'canary' }, config: inShare })
    const { rig, faulty } = started
    for (let call = 0; call < 20; call++) {
      const response = await rig.chat(say(`healthy ${call}`))
      await response.text()
      expect(layerStates(response)['postprocess']).toBe('evaporation-accelerating;by=runner')
    }
    faulty.plant(fault)
    let calls = 0
    const statuses = new Set<number>()
    while (rig.gateway.setup().folding.stageOf('postprocess').stage === 'canary' && calls < 100) {
      const response = await rig.chat(say(`failing ${calls++}`))
      statuses.add(response.status)
      await response.text()
    }
    expect([...statuses]).toEqual([200])
    expect(calls).toBeLessThan(15)
    const moved = rig.gateway.lines.find(({ msg, to }) => msg === 'layer moved' && to === 'rolled-back')
    expect(moved).toMatchObject({ layer: 'postprocess', actor: 'foldgate', reason: expect.stringMatching(/^F\d/) })
    const after = await rig.chat(say('afterwards'))
    expect(layerStates(after)['postprocess']).toBe('active;by=gateway')
  })
})

describe('a healthy layer', () => {
  it('goes to native by itself where the autopilot is on', async () => {
    await using rig = await startFoldingRig({
      stages: { postprocess: 'shadow' },
      config: { folding: { policy: { stages: [10, 100], autopilot: true, tiers: [] } } },
      pace,
    })
    const stageNow = (): string => rig.gateway.setup().folding.stageOf('postprocess').stage
    let calls = 0
    while (stageNow() !== 'native' && calls < 3_000) {
      const response = await rig.chat({ ...say(`healthy ${calls++}`) }, { 'x-conversation-id': `c${calls}` })
      await response.text()
      expect(response.status).toBe(200)
    }
    expect(stageNow()).toBe('native')
    const path = rig.gateway.lines.filter(({ msg }) => msg === 'layer moved').map(({ to }) => to)
    expect(path).toEqual(['shadow', 'canary 10 %', 'canary 100 %', 'native'])
  }, 60_000)

  it('stays where it is without the autopilot, and says that it could go on', async () => {
    await using rig = await startFoldingRig({ stages: { postprocess: 'canary' }, config: inShare, pace })
    for (let call = 0; call < 80; call++)
      await (await rig.chat(say(`healthy ${call}`), { 'x-conversation-id': `c${call}` })).text()
    const judged = (): unknown => rig.gateway.lines.find(({ msg }) => msg === 'rollout judged')
    while (!judged())
      await (await rig.chat(say(`more ${Math.random()}`), { 'x-conversation-id': `m${Math.random()}` })).text()
    expect(judged()).toMatchObject({ layer: 'postprocess', decision: 'promote' })
    expect(rig.gateway.setup().folding.stageOf('postprocess').stage).toBe('canary')
  }, 60_000)
})
