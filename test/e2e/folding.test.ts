import { describe, expect, it } from 'vitest'
import { layers } from '../../plugins/index.ts'
import { allNative, layerStates, startFoldingRig } from './folding-rig.ts'

const names = layers.map(({ name }) => name)
describe('all layers native', () => {
  it('the runner does all of it, and the status says so', async () => {
    await using rig = await startFoldingRig({ stages: allNative })
    const response = await rig.chat()
    const body = (await response.json()) as { choices: { message: { content: string } }[] }
    expect([response.status, body.choices[0]?.message.content]).toEqual([200, 'one two three'])
    expect(layerStates(response)).toEqual(
      Object.fromEntries(names.map((name) => [name, 'evaporation-complete;by=runner'])),
    )
  })

  it('a caller whom the runner does not know is refused by it, finally', async () => {
    await using rig = await startFoldingRig({ stages: allNative })
    const response = await rig.chat({}, { authorization: 'Bearer nobody' })
    expect([response.status, layerStates(response)['auth']]).toEqual([401, 'evaporation-complete;by=runner'])
    expect(layerStates(response)['cache']).toBe('evaporation-bypassed;by=none')
  })
})

it('JSON mode is served alike on both sides by an engine that has none: the layer that decides enforces it', async () => {
  const ask = { response_format: { type: 'json_object' }, messages: [{ role: 'user', content: '{"a":1}' }] }
  const answers: unknown[] = []
  for (const stages of [{}, allNative]) {
    await using rig = await startFoldingRig({ stages })
    const response = await rig.chat(ask)
    const { choices } = (await response.json()) as { choices: { message: { content: string } }[] }
    answers.push([response.status, choices[0]?.message.content])
  }
  expect(answers).toEqual([
    [200, '{"a":1}'],
    [200, '{"a":1}'],
  ])
})
