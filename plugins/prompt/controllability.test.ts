import { describe, expect, test } from 'vitest'
import { builtInSets } from './controllability.ts'
import { ask, openRig } from './test-rig.ts'

const sent = async (body: object, asking: object = {}, config: object = {}) =>
  (await (await openRig({ controllability: config })).run(ask(body, asking))).sent[0]

describe('named control', () => {
  test('a name becomes numbers and a sentence, and does not leave itself', async () => {
    const request = await sent({ controllability: 'concise' })
    expect(request).toMatchObject({ temperature: 0.3, top_p: 0.9, max_tokens: 320 })
    expect(request).not.toHaveProperty('controllability')
    expect(request?.messages?.[0]).toEqual({ role: 'system', content: builtInSets.concise.instruction })
  })
  test('numbers that the caller gives win, also 0', async () => {
    const given = { temperature: 0, max_completion_tokens: 9 }
    const request = await sent({ controllability: 'concise', ...given })
    expect(request).toMatchObject({ ...given, top_p: 0.9 })
    expect(request).not.toHaveProperty('max_tokens')
  })
  test('a header names it where the body does not', async () => {
    const headers = { 'x-controllability': 'creative' }
    expect(await sent({}, { headers })).toMatchObject({ temperature: 1 })
    expect(await sent({ controllability: 'balanced' }, { headers })).toMatchObject({ temperature: 0.7 })
  })
  test('another name is a 400 that lists the names', async () => {
    for (const controllability of ['loud', 7, 'constructor']) {
      await expect(sent({ controllability })).rejects.toMatchObject({
        code: 'invalid_request',
        message: expect.stringContaining('concise, balanced'),
        detail: { field: 'controllability' },
      })
    }
  })
  test('models that refuse numbers get the sentence only, and the length under the name they know', async () => {
    const claude = await sent({ controllability: 'concise' }, { target: 'claude-opus-5' })
    expect(claude).not.toHaveProperty('temperature')
    expect(claude?.max_tokens).toBe(320)
    const hosted = await sent({ controllability: 'detailed' }, { target: 'openai/o3-mini' })
    expect(hosted?.max_completion_tokens).toBe(4096)
    expect(hosted).not.toHaveProperty('max_tokens')
    expect(await sent({ controllability: 'concise' }, { target: 'llo3' })).toHaveProperty('temperature')
  })
  test('the configuration says what a name means, for all and for a family', async () => {
    const config = {
      names: { concise: { temperature: 0.1, instruction: null } },
      families: [{ match: ['Qwen'], names: { concise: { top_p: 0.5, max_tokens: null } } }],
    }
    const plain = await sent({ controllability: 'concise' }, {}, config)
    expect(plain).toMatchObject({ temperature: 0.1, top_p: 0.9, max_tokens: 320 })
    expect(plain?.messages).toHaveLength(1)
    const family = await sent({ controllability: 'concise' }, { target: 'qwen3-8b' }, config)
    expect(family).toMatchObject({ temperature: 0.1, top_p: 0.5 })
    expect(family).not.toHaveProperty('max_tokens')
  })
  test("off, the member is the runner's business", async () => {
    expect(await sent({ controllability: 'concise' }, {}, { enabled: false })).toHaveProperty('controllability')
  })
})
