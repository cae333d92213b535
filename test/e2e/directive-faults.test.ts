import { describe, expect, it } from 'vitest'
import { allNative, layerStates, startFoldingRig } from './folding-rig.ts'

const wrong = { execution_context: { output_constraints: { max_output_length: 'long' } } }
const nobody = { authorization: 'Bearer nobody' }

describe.each<[string, typeof allNative | Record<string, never>]>([
  ['in the gateway', {}],
  ['at the runner', allNative],
])('wrong directives, with all layers %s', (_, stages) => {
  it('are refused with their path where the configuration says so, and only to whom auth knows', async () => {
    await using rig = await startFoldingRig({ stages, config: { directives: { onInvalid: 'reject' } } })
    const known = await rig.chat(wrong)
    expect([known.status, await known.text()]).toEqual([400, expect.stringContaining('execution_context')])
    const unknown = await rig.chat(wrong, nobody)
    expect([unknown.status, unknown.headers.get('x-fallback-reason')]).toEqual([401, null])
    expect(await unknown.text()).not.toContain('execution_context')
    expect(layerStates(unknown)['auth']).toContain(Object.keys(stages).length > 0 ? 'runner' : 'gateway')
  })

  it('are told in a header otherwise, and only to whom auth knows', async () => {
    await using rig = await startFoldingRig({ stages })
    const known = await rig.chat(wrong)
    expect(known.status).toBe(200)
    expect(known.headers.get('x-fallback-reason')).toContain('invalid_execution_context')
    const unknown = await rig.chat(wrong, nobody)
    expect([unknown.status, unknown.headers.get('x-fallback-reason')]).toEqual([401, null])
  })
})
