import { request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { connect } from '../support/client.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { allNative, type FoldingRig, startFoldingRig } from './folding-rig.ts'

failOnLeaks()

const body = (more: object) => ({ model: 'echo', messages: [{ role: 'user', content: 'one two three' }], ...more })

/** A chat asked by a client that reads trailers, with what it was told before and after the body. */
function asked(rig: FoldingRig, more: object, headers: Readonly<Record<string, string>>) {
  const { promise, resolve, reject } = Promise.withResolvers<{
    headers: Record<string, unknown>
    trailers: Record<string, unknown>
    text: string
  }>()
  const options = {
    method: 'POST',
    agent: false as const,
    headers: { authorization: `Bearer ${rig.keys[0]}`, 'content-type': 'application/json', ...headers },
  }
  request(`${rig.gateway.url}/v1/chat/completions`, options, async (reply) => {
    let text = ''
    for await (const part of reply) text += part
    resolve({ headers: reply.headers, trailers: reply.trailers, text })
  })
    .on('error', reject)
    .end(JSON.stringify(body(more)))
  return promise
}

const takesTrailers = { te: 'trailers', connection: 'te, close' }

describe('the status line as a trailer', () => {
  it('ends a stream whose layers acted until then, for a client that takes trailers: nothing is armed any more', async () => {
    await using rig = await startFoldingRig({ stages: allNative })
    const { headers, trailers, text } = await asked(rig, { stream: true }, takesTrailers)
    expect(headers['x-layer-status']).toContain('postprocess=evaporation-complete;by=runner;armed')
    expect(headers['trailer']).toBe('x-layer-status')
    expect(trailers['x-layer-status']).toMatch(/^auth=.*postprocess=evaporation-complete;by=runner$/)
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
  })

  it.each([
    ['a client that did not ask for it', { stream: true }, {}, allNative],
    ['an answer that is no stream', {}, takesTrailers, allNative],
    ['a call whose layers all sit in the gateway', { stream: true }, takesTrailers, {}],
  ] as const)('does not go to %s', async (_title, more, headers, stages) => {
    await using rig = await startFoldingRig({ stages })
    const answer = await asked(rig, more, headers)
    expect([answer.headers['trailer'], answer.trailers]).toEqual([undefined, {}])
  })

  it('does not go to HTTP/1.0, which has none', async () => {
    await using rig = await startFoldingRig({ stages: allNative })
    await using client = await connect(rig.gateway.url)
    const text = JSON.stringify(body({ stream: true }))
    const lines = [
      'POST /v1/chat/completions HTTP/1.0',
      `Authorization: Bearer ${rig.keys[0]}`,
      'Content-Type: application/json',
      `Content-Length: ${text.length}`,
      'TE: trailers',
    ]
    await client.write(`${lines.join('\r\n')}\r\n\r\n${text}`)
    const response = await client.response()
    await response.done()
    expect([response.status, response.headers['trailer'], response.text.includes('[DONE]')]).toEqual([
      200,
      undefined,
      true,
    ])
  })
})

describe('the other forms of the status line', () => {
  it('the summary of native layers is the least advanced of them', async () => {
    await using rig = await startFoldingRig({ stages: allNative, config: { headers: { layerStatus: 'summary' } } })
    expect((await rig.chat()).headers.get('x-layer-status')).toBe('evaporation-complete')
    await using mixed = await startFoldingRig({
      stages: { postprocess: 'native', prompt: 'shadow' },
      config: { headers: { layerStatus: 'summary' } },
    })
    expect((await mixed.chat()).headers.get('x-layer-status')).toBe('active')
  })

  it('plain words say native, shadow and gateway', async () => {
    await using rig = await startFoldingRig({
      stages: { postprocess: 'native', prompt: 'shadow' },
      config: { headers: { layerStatus: 'plain' } },
    })
    const line = (await rig.chat()).headers.get('x-layer-status')
    expect(line).toBe(
      'auth=gateway, rate-limit=gateway, cache=gateway, routing=gateway, prompt=shadow, postprocess=native',
    )
  })

  it('a fallback is the summary of a call that fell back', async () => {
    await using rig = await startFoldingRig({
      stages: allNative,
      config: { headers: { layerStatus: 'summary' }, access: { debugScope: 'debug' } },
    })
    const response = await rig.chat({ execution_context: { debug_force_fallback: true } })
    expect(response.headers.get('x-layer-status')).toBe('fallback')
  })
})
