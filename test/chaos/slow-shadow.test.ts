import { expect, it, vi } from 'vitest'
import { pass } from '../../plugins/verdict.ts'
import { layerStates, startFoldingRig } from '../e2e/folding-rig.ts'
import { faultyLayers, stagesWith } from '../e2e/shadow-rig.ts'
import { until } from '../support/gate.ts'

interface Diffs {
  readonly layers: Readonly<Record<string, { readonly skipped?: { readonly timeout?: number } }>>
}

vi.setConfig({ testTimeout: 60_000 })

it('a half that breaks down at the runner while it only observes costs no caller anything (scenario 16)', async () => {
  const layers = faultyLayers('postprocess', (half) => ({
    ...half,
    decide: async () => {
      throw new RangeError('out of memory')
    },
  }))
  await using rig = await startFoldingRig({ stages: stagesWith('postprocess', 'shadow'), execution: { layers } })
  for (const stream of [false, true]) {
    const response = await rig.chat({ messages: [{ role: 'user', content: `call ${stream}` }], stream })
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('call')])
    expect(layerStates(response)['postprocess']).toBe('evaporation-started;by=gateway')
  }
})

it('a half that never speaks at the runner while it only observes keeps nobody waiting, and is counted (scenario 16)', async () => {
  const layers = faultyLayers('prompt', (half) => ({
    ...half,
    decide: (call, mode, reads) =>
      call.body.includes('hang') ? new Promise<never>(() => undefined) : (half.decide?.(call, mode, reads) ?? pass()),
  }))
  const stages = { postprocess: 'native', prompt: 'shadow' } as const
  await using rig = await startFoldingRig({ stages, execution: { layers } })
  const skipped = async () => {
    const response = await fetch(`${rig.gateway.adminUrl}/-/diffs`)
    return ((await response.json()) as Diffs).layers['prompt']?.skipped?.timeout
  }
  await until(async () => layerStates(await rig.chat())['prompt'] === 'evaporation-started;by=gateway', 'in shadow')
  const began = performance.now()
  const response = await rig.chat({ messages: [{ role: 'user', content: 'hang' }], stream: false })
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('hang')])
  expect(performance.now() - began).toBeLessThan(3_000)
  expect(layerStates(response)['prompt']).toBe('evaporation-started;by=gateway')
  await until(async () => (await skipped()) === 1, 'it is counted')
})
