import { describe, expect, it, vi } from 'vitest'
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

it('rules that directives ask for are compiled for those only whom auth knows', async () => {
  await using rig = await startFoldingRig({ stages: {} })
  const asked = { execution_context: { output_constraints: { max_output_length: 7 } } }
  const postprocess = rig.gateway.setup().tightening.get('postprocess')!
  const ready = vi.spyOn(postprocess, 'ready')
  expect((await rig.chat(asked, nobody)).status).toBe(401)
  expect((await rig.chat(wrong, nobody)).status).toBe(401)
  expect(ready).not.toHaveBeenCalled()
  expect((await rig.chat(asked)).status).toBe(200)
  expect(ready).toHaveBeenCalledTimes(1)
})

it('what turned out not to hold changes nothing for the layers further in', async () => {
  await using rig = await startFoldingRig({ stages: {}, layers: { cache: undefined } })
  const cut = { output_constraints: { max_output_length: 3 } }
  const text = async (body: object): Promise<string> => (await rig.chat(body)).text()
  const [plain, shortened] = [await text({}), await text({ execution_context: cut })]
  const mixed = await text({ execution_context: { ...cut, rate_limit: { tokens_per_minute: 'many' } } })
  expect(shortened).not.toBe(plain)
  const said = (answer: string) => JSON.parse(answer).choices[0].message.content
  expect(said(mixed)).toBe(said(plain))
})
