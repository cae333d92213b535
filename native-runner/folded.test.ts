import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createApiKey } from '../plugins/auth/api-key.ts'
import type { FoldSource } from '../plugins/host.ts'
import { layers } from '../plugins/index.ts'
import type { Layer } from '../plugins/layer.ts'
import type { Policy } from '../plugins/policy.ts'
import { type Acked, type Rig, saying, startRig } from './execution.support.ts'

const { key } = createApiKey()
const credentials = { authorization: `Bearer ${key}` }
const hash = createHash('sha256').update(key).digest('hex')
const source: FoldSource = {
  declared: new Set(),
  conversationHeader: 'x-conversation-id',
  file: () => Buffer.alloc(0),
  secret: (path) => path,
}

const sections: Readonly<Record<string, object>> = {
  auth: { apiKeys: [{ id: 'one', hash, tenant: 't1', tier: 'free' }] },
  'rate-limit': { limits: [{ key_fields: ['tenant'], tokens_per_minute: 1_000 }] },
  cache: { ttl_seconds: 300 },
  routing: { targets: [{ runner: 'a', model: 'echo', aliases: ['gpt-4o'] }] },
  prompt: { templates: { main: { text: 'You serve {{ tenant }}.', version: '1' } } },
  postprocess: { pii: { mode: 'redact', types: ['email'] } },
}

/** Every layer of the product, folded as a gateway folds it. */
const policyFrom = (over: Readonly<Record<string, object>> = {}): Policy => ({
  v: 1,
  route: 'chat',
  steps: (layers as readonly Layer[]).map(({ name, config, fold, native }) => {
    const step = JSON.parse(JSON.stringify(fold?.(config.parse({ ...sections[name], ...over[name] }), source)))
    return { layer: name, version: native?.version ?? 0, step }
  }),
})

const startFolded = (options: Parameters<typeof startRig>[0] = {}): Promise<Rig> =>
  startRig({ ...options, execution: { layers } })
const ask = (rig: Rig, body: object, policy = policyFrom()): Promise<Acked> =>
  rig.chat(policy, body, { credentials, facts: { client_ip: '203.0.113.7' } })
const outcomes = ({ acknowledged }: Acked) => {
  if (!acknowledged.ok) expect.fail(`${acknowledged.mismatch} ${acknowledged.layer}`)
  return Object.fromEntries(Object.entries(acknowledged.acknowledgement.layers).map(([name, { o }]) => [name, o]))
}
const contentOf = ({ text }: Acked): string => JSON.parse(text).choices[0].message.content

describe('all six layers, folded', () => {
  it('every step is compiled, and a call passes through all of them', async () => {
    await using rig = await startFolded()
    const report = await rig.put(policyFrom())
    expect(Object.values(report.layers).map(({ status }) => status)).toEqual(Array(6).fill('compiled'))
    const said = await ask(rig, saying('write to ann@example.org', { model: 'gpt-4o' }))
    expect(said.status).toBe(200)
    expect(contentOf(said)).toContain('write to')
    expect(contentOf(said)).not.toContain('ann@example.org')
    expect(outcomes(said)).toMatchObject({ auth: 'pass', 'rate-limit': 'pass', cache: 'pass', postprocess: 'pass' })
    const [auth, limit] = ['auth', 'rate-limit'].map(
      (name) => said.acknowledged.ok && said.acknowledged.acknowledgement.layers[name],
    )
    expect(auth).toMatchObject({ sub: 'one', ten: 't1', tier: 'free' })
    expect(limit).toHaveProperty('used')
  })

  it('the same again is answered from the cache, and the engine is not asked', async () => {
    let tokens = 0
    await using rig = await startFolded({ onToken: () => void tokens++ })
    const first = await ask(rig, saying('one two'))
    const made = tokens
    const second = await ask(rig, saying('one two'))
    expect([contentOf(second), tokens]).toEqual([contentOf(first), made])
    expect(outcomes(second)).toEqual({ auth: 'pass', 'rate-limit': 'pass', cache: 'answer' })
    const streamed = await ask(rig, saying('one two', { stream: true }))
    expect([tokens, streamed.text.includes('[DONE]')]).toEqual([made, true])
  })

  it('another rule further in is another answer', async () => {
    let tokens = 0
    await using rig = await startFolded({ onToken: () => void tokens++ })
    await ask(rig, saying('one two'))
    const other = policyFrom({ prompt: { templates: { main: { text: 'Be kind to {{ tenant }}.', version: '2' } } } })
    const made = tokens
    expect(outcomes(await ask(rig, saying('one two'), other))).toMatchObject({ cache: 'pass' })
    expect(tokens).toBeGreaterThan(made)
  })

  it('a stranger is refused, and a caller who asks too much is told when to come back', async () => {
    await using rig = await startFolded()
    const stranger = await rig.chat(policyFrom(), saying('x'), { credentials: { authorization: 'Bearer fg_no' } })
    expect([stranger.status, outcomes(stranger)]).toEqual([401, { auth: 'refuse' }])
    const tight = policyFrom({ 'rate-limit': { limits: [{ key_fields: ['tenant'], requests_per_minute: 1 }] } })
    expect((await ask(rig, saying('x'), tight)).status).toBe(200)
    const limited = await ask(rig, saying('y'), tight)
    expect([limited.status, outcomes(limited)]).toEqual([429, { auth: 'pass', 'rate-limit': 'refuse' }])
    expect(Number(limited.headers['retry-after'])).toBeGreaterThan(0)
  })

  it('a stream is redacted on its way, and acknowledged to its end', async () => {
    await using rig = await startFolded()
    const said = await ask(rig, saying('write to ann@example.org now', { stream: true }))
    expect(outcomes(said)).toMatchObject({ postprocess: 'armed' })
    expect(said.text).not.toContain('ann@example.org')
    expect(said.text).not.toContain('"usage"')
    const end = String(said.trailers['x-layer-ack-end'])
    expect(end).toContain('postprocess;o=ok')
    expect(end).toMatch(/rate-limit;used=\d+/)
    expect(end).toMatch(/usage;in=\d+;out=\d+/)
  })

  it('what a caller asks for beyond the rule holds for this call', async () => {
    await using rig = await startFolded()
    const asking = { execution_context: { auth: { required_scopes: ['admin'] } } }
    const said = await ask(rig, saying('x', asking))
    expect([said.status, outcomes(said)]).toEqual([403, { auth: 'refuse' }])
    expect((await ask(rig, saying('x'))).status).toBe(200)
  })
})
