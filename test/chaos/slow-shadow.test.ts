import { expect, it, vi } from 'vitest'
import { layerStates, startFoldingRig } from '../e2e/folding-rig.ts'
import { faultyLayers, stagesWith } from '../e2e/shadow-rig.ts'

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
