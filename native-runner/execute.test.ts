import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, vi } from 'vitest'
import type { Acknowledgement } from '../plugins/acknowledgement.ts'
import {
  acknowledgementKey,
  verifyAcknowledgement,
  verifyAcknowledgementEnd,
} from '../plugins/acknowledgement-verify.ts'
import { eventsFrom } from './echo-fixture.ts'
import {
  type Acked,
  ask,
  executing,
  headOf,
  modesOf,
  policyOf,
  rigKey,
  rigOf,
  saying,
  startRig,
} from './execution.support.ts'
import { startRunner } from './runner.ts'

const all = policyOf({ who: {}, count: {}, aim: { models: ['echo'] }, shout: {} })
const good = { authorization: 'Bearer good-ann' }
const versions = new Map(all.steps.map(({ layer, version }) => [layer, version]))

const headFrom = ({ acknowledged }: Acked): Acknowledgement => {
  if (!acknowledged.ok) throw new Error(`${acknowledged.mismatch} ${acknowledged.layer}`)
  return acknowledged.acknowledgement
}

const endFrom = (said: Acked): Acknowledgement => {
  const key = acknowledgementKey(rigKey)
  const asked = { context: said.context, key, versions }
  const end = verifyAcknowledgementEnd(said.trailers['x-layer-ack-end'], asked, headFrom(said))
  if (!end.ok) throw new Error(`${end.mismatch} ${end.layer}`)
  return end.acknowledgement
}

describe('an answer that is not streamed', () => {
  it('is made by the layers around the engine, and acknowledged in the header', async () => {
    await using rig = await startRig()
    const said = await rig.chat(all, saying('one two'), { credentials: good })
    expect(said.status).toBe(200)
    expect(JSON.parse(said.text).choices[0].message.content).toBe('ONE TWO')
    const { runner, layers, usage } = headFrom(said)
    expect(runner).toMatchObject({ boot: rig.capabilities.boot, caps: rig.capabilities.caps })
    expect(layers).toMatchObject({
      who: { v: 1, m: 'enforce', o: 'pass', sub: 'ann', ten: 'of-ann', tier: 'free' },
      count: { o: 'pass', bkt: 'runner:of-ann', used: 6 },
      aim: { o: 'pass' },
      shout: { o: 'pass' },
    })
    expect(Object.keys(layers)).toEqual(['who', 'count', 'aim', 'shout'])
    expect(usage).toEqual({ in: 4, out: 2, cached: 0 })
    expect(layers['count']?.d).toBeGreaterThanOrEqual(0)
  })

  it('bears the essence of each verdict', async () => {
    await using rig = await startRig()
    const first = headFrom(await rig.chat(all, saying('a'), { credentials: good }))
    const second = headFrom(await rig.chat(all, saying('b'), { credentials: good }))
    const other = headFrom(await rig.chat(all, saying('b'), { credentials: { authorization: 'Bearer good-bob' } }))
    expect(first.layers['who']?.e).toMatch(/^[A-Za-z0-9+/]{22}==$/)
    expect(second.layers['who']?.e).toBe(first.layers['who']?.e)
    expect(other.layers['who']?.e).not.toBe(first.layers['who']?.e)
  })

  it('is refused by a layer in the dialect of OpenAI, with its headers, and that is acknowledged', async () => {
    await using rig = await startRig()
    const stranger = await rig.chat(all, saying('x'), { credentials: { authorization: 'Bearer bad' } })
    expect([stranger.status, JSON.parse(stranger.text).error.code]).toEqual([401, 'unauthenticated'])
    const { layers } = headFrom(stranger)
    expect(layers).toEqual({ who: expect.objectContaining({ o: 'refuse', code: 'unauthenticated' }) })
    const never = policyOf({ count: { limit: 0 } })
    const limited = await rig.chat(never, saying('x'))
    expect([limited.status, limited.headers['retry-after']]).toEqual([429, '2'])
    expect(headFrom(limited).layers['count']).toMatchObject({ o: 'refuse', code: 'rate_limited' })
  })

  it('that the engine refuses passes on as the engine says it, acknowledged', async () => {
    await using rig = await startRig()
    const said = await rig.chat(policyOf({ count: {} }), saying('x', { temperature: 9 }))
    expect(said.status).toBe(400)
    expect(JSON.parse(said.text)).toMatchObject({ error: { code: 'invalid_value', param: 'temperature' } })
    expect(headFrom(said).layers['count']).toMatchObject({ o: 'pass' })
  })

  it('that a layer finds wrong in the end is its failure', async () => {
    await using rig = await startRig()
    const said = await rig.chat(policyOf({ shout: { forbids: 'two' } }), saying('one two'))
    expect([said.status, JSON.parse(said.text).error.code]).toEqual([422, 'output_invalid'])
    expect(headFrom(said).layers['shout']).toMatchObject({ o: 'failed', code: 'output_invalid' })
  })

  it('names the model of the first target that is served', async () => {
    await using rig = await startRig()
    const aimed = policyOf({ aim: { models: ['elsewhere', 'echo'] } })
    const said = await rig.chat(aimed, saying('x', { model: 'alias' }))
    expect([said.status, JSON.parse(said.text).model]).toEqual([200, 'echo'])
    const nowhere = await rig.chat(policyOf({ aim: { models: ['elsewhere'] } }), saying('x'))
    expect([nowhere.status, JSON.parse(nowhere.text).error.code]).toEqual([404, 'model_not_found'])
  })

  it('of another endpoint is executed under a policy of its route, and of no other', async () => {
    await using rig = await startRig()
    const embeddings = policyOf({ count: {} }, 'embeddings')
    const body = { model: 'echo', input: 'a b' }
    const said = await rig.chat(embeddings, body, { path: '/v1/embeddings' })
    expect([said.status, JSON.parse(said.text).object]).toEqual([200, 'list'])
    expect(headFrom(said)).toMatchObject({ layers: { count: { used: 2 } }, usage: { in: 2, out: 0 } })
    const completions = policyOf({ count: {} }, 'completions')
    const text = await rig.chat(completions, { model: 'echo', prompt: 'a b' }, { path: '/v1/completions' })
    expect([text.status, JSON.parse(text.text).choices[0].text]).toEqual([200, 'a b'])
    const wrong = await rig.chat(embeddings, saying('x'))
    expect([wrong.status, JSON.parse(wrong.text).type]).toEqual([400, 'urn:foldgate:exec-ctx-invalid'])
    const messages = await rig.chat(policyOf({ count: {} }, 'messages'), saying('x'))
    expect(messages.status).toBe(200)
  })
})

it('the list of models is answered under a policy of its route', async () => {
  await using rig = await startRig()
  const policy = policyOf({ count: {} }, 'models')
  await rig.put(policy)
  const headers = { 'x-execution-context': rig.seal('', modesOf(policy)) }
  const said = await ask(`${rig.runner.url}/v1/models`, { method: 'GET', headers })
  expect([said.status, JSON.parse(said.text).data[0].id]).toEqual([200, 'echo'])
  expect(headOf(said)).toContain('count;v=1;m=enforce;o=pass')
})

describe('a stream', () => {
  it('is acknowledged when it begins, and in a trailer when it has ended', async () => {
    await using rig = await startRig()
    const said = await rig.chat(all, saying('one two', { stream: true }), { credentials: good })
    expect(said.headers['trailer']).toBe('x-layer-ack-end')
    const head = headFrom(said)
    expect(head.layers['shout']).toMatchObject({ o: 'armed' })
    expect(head.usage).toBeUndefined()
    const end = endFrom(said)
    expect(end).toMatchObject({
      layers: { shout: { o: 'ok' }, count: { used: 6 } },
      usage: { in: 4, out: 2, cached: 0 },
    })
    expect(said.text).toContain('ONE')
    expect(said.text.trim().endsWith('[DONE]')).toBe(true)
  })

  it('hands the usage chunk on only to who asked for it', async () => {
    await using rig = await startRig()
    const counted = policyOf({ count: {} })
    const without = await rig.chat(counted, saying('x', { stream: true }))
    expect(without.text).not.toContain('usage')
    const wanted = saying('x', { stream: true, stream_options: { include_usage: true } })
    expect((await rig.chat(counted, wanted)).text).toContain('"completion_tokens":1')
  })

  it('that fails says so in band, without an end mark, and in the trailer', async () => {
    await using rig = await startRig({ failAfterTokens: 1 })
    const said = await rig.chat(all, saying('one two', { stream: true }), { credentials: good })
    const last = JSON.parse(eventsFrom(said.text).at(-1)!)
    expect(last).toMatchObject({ error: { code: 'engine_failed' } })
    expect(said.text).not.toContain('[DONE]')
    expect(endFrom(said).layers['shout']).toMatchObject({ o: 'failed', code: 'runner_error' })
  })

  it('that a layer cuts is that layer’s failure', async () => {
    await using rig = await startRig()
    const policy = policyOf({ shout: { forbids: 'two' } })
    const said = await rig.chat(policy, saying('one two', { stream: true }))
    expect(said.text).toContain('ONE')
    expect(JSON.parse(eventsFrom(said.text).at(-1)!)).toMatchObject({ error: { code: 'output_invalid' } })
    const asked = { context: said.context, key: acknowledgementKey(rigKey), versions: new Map([['shout', 1]]) }
    const end = verifyAcknowledgementEnd(said.trailers['x-layer-ack-end'], asked, headFrom(said))
    expect(end).toMatchObject({ acknowledgement: { layers: { shout: { o: 'failed', code: 'output_invalid' } } } })
  })
})

describe('an observer', () => {
  it('says what it would have done, changes nothing, and keeps its side’s state as if it decided', async () => {
    await using rig = await startRig()
    const policy = policyOf({ count: { limit: 1 }, shout: {} })
    const modes = { count: 'observe', shout: 'observe' } as const
    const first = await rig.chat(policy, saying('x'), { modes })
    const second = await rig.chat(policy, saying('x'), { modes })
    expect([first.status, second.status]).toEqual([200, 200])
    expect(JSON.parse(second.text).choices[0].message.content).toBe('x')
    expect(headFrom(first).layers['count']).toMatchObject({ m: 'observe', o: 'pass' })
    expect(headFrom(second).layers['count']).toMatchObject({ m: 'observe', o: 'refuse', code: 'rate_limited' })
    expect((await rig.chat(policy, saying('x'))).status).toBe(429)
  })

  it('of a copy has a state apart', async () => {
    await using rig = await startRig()
    const policy = policyOf({ count: { limit: 1 } })
    expect((await rig.chat(policy, saying('x'), { shadow: true })).status).toBe(200)
    expect((await rig.chat(policy, saying('x'), { shadow: true })).status).toBe(429)
    expect((await rig.chat(policy, saying('x'))).status).toBe(200)
  })
})

describe('directives', () => {
  it('tighten the rule for this call alone, and do not reach the engine', async () => {
    await using rig = await startRig()
    const policy = policyOf({ count: { limit: 5 } })
    const asking = (limit: unknown) => saying('x', { execution_context: { rate_limit: { tokens_per_minute: limit } } })
    expect((await rig.chat(policy, asking(1))).status).toBe(200)
    expect((await rig.chat(policy, asking(1))).status).toBe(429)
    const said = await rig.chat(policy, saying('x'))
    expect([said.status, headFrom(said).runner.dir]).toEqual([200, undefined])
  })

  it('that do not hold leave the operator’s rules, and their path is said', async () => {
    await using rig = await startRig()
    const policy = policyOf({ count: { limit: 5 } })
    const looser = saying('x', { execution_context: { rate_limit: { tokens_per_minute: 6 } } })
    const said = await rig.chat(policy, looser)
    expect([said.status, headFrom(said).runner.dir]).toEqual([200, 'execution_context.rate_limit.tokens_per_minute'])
    const strange = await rig.chat(policy, saying('x', { execution_context: { wishes: {} } }))
    expect([strange.status, headFrom(strange).runner.dir]).toEqual([200, 'execution_context.wishes'])
  })
})

it('what an engine behind this runner is sent has no directives in it', async () => {
  const bodies: Record<string, unknown>[] = []
  const upstream = createServer(async (incoming, response) => {
    const text = (await incoming.toArray()).join('')
    if (text) bodies.push(JSON.parse(text))
    const choices = [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }]
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ data: [{ id: 'echo' }], choices }))
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
  {
    await using runner = await startRunner({ engine: 'openai', upstream: url, execution: executing })
    await using rig = await rigOf(runner)
    const asking = { execution_context: { rate_limit: { tokens_per_minute: 1 } }, 'x-execution-context': undefined }
    const said = await rig.chat(policyOf({ count: {} }), saying('x', asking))
    expect([said.status, said.acknowledged.ok]).toEqual([200, true])
  }
  upstream.closeAllConnections()
  upstream.close()
  expect(bodies).toHaveLength(1)
  expect(bodies[0]).not.toHaveProperty('execution_context')
  expect(bodies[0]).toHaveProperty('messages')
})

it('a caller who goes away stops the engine, and its policy is free again', async () => {
  let tokens = 0
  await using rig = await startRig({ repeat: 1e9, delayMs: 2, onToken: () => void tokens++ })
  await rig.put(all)
  const body = JSON.stringify(saying('x', { stream: true }))
  const policy = policyOf({ count: {} })
  await rig.put(policy)
  const leave = new AbortController()
  const headers = { 'content-type': 'application/json', 'x-execution-context': rig.seal(body, modesOf(policy)) }
  const url = `${rig.runner.url}/v1/chat/completions`
  const said = await fetch(url, { method: 'POST', body, headers, signal: leave.signal })
  expect(said.headers.get('x-layer-ack')).toContain('count')
  await vi.waitFor(() => expect(tokens).toBeGreaterThan(2))
  leave.abort()
  await expect(said.text()).rejects.toThrow()
  await vi.waitFor(() => expect(rig.runner.engine.load().running).toBe(0))
})

it('an acknowledgement belongs to its call: another call’s is not taken', async () => {
  await using rig = await startRig()
  const policy = policyOf({ count: {} })
  const [one, two] = [await rig.chat(policy, saying('x')), await rig.chat(policy, saying('x'))]
  const asked = { context: two.context, key: acknowledgementKey(rigKey), versions }
  expect(verifyAcknowledgement(headOf(one), asked)).toMatchObject({ ok: false, mismatch: 'call' })
})
