import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../support/gate.ts'
import { type Redis, redisAvailable, startServer } from '../../support/redis.ts'
import { json } from '../../support/reply.ts'
import { startUpstream, type Upstream } from '../../support/upstream.ts'
import { type ChainCaller, createChainCaller } from './caller.ts'
import { type Chain, startChain } from './start.ts'

if (!redisAvailable)
  console.warn('SKIPPED: the classic chain is not tested, since there is no redis-server on the PATH')

const said = 'Ask anna@example.org, pay with 4111 1111 1111 1111, this is confidential. Order 4111 1111 1111 1112.'
const usage = { prompt_tokens: 20, completion_tokens: 30, total_tokens: 50 }
const choices = [{ index: 0, message: { role: 'assistant', content: said }, finish_reason: 'stop' }]

describe.skipIf(!redisAvailable)('the classic chain', () => {
  const stack = new AsyncDisposableStack()
  let engine: Upstream
  let redis: Redis
  let caller: ChainCaller
  /** Every service parses what passes. */
  let each: Chain
  /** Only those that have to. */
  let needed: Chain

  beforeAll(async () => {
    engine = stack.use(
      await startUpstream((request) => {
        const { model } = JSON.parse(request.body.toString()) as { model: string }
        return json({ id: 'x', object: 'chat.completion', model, choices, usage })
      }),
    )
    redis = stack.use(await startServer())
    caller = stack.use(await createChainCaller(redis))
    const { keySet, issuer, audience } = caller
    const places = { next: engine.url, redis: redis.url, jwks: keySet.url, issuer, audience, tokensPerMinute: 600 }
    const start = async (bodies: 'each' | 'needed') => stack.use(await startChain({ ...places, bodies }))
    ;[each, needed] = await Promise.all([start('each'), start('needed')])
  })
  afterAll(() => stack.disposeAsync())

  const ask = (chain: Chain, content: string, token = caller.token) =>
    fetch(`http://127.0.0.1:${chain.port}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ model: 'bench', messages: [{ role: 'user', content }], max_tokens: 256 }),
    })

  test.each([
    ['each', () => each],
    ['needed', () => needed],
  ] as const)('each of the seven services leaves its mark on one call (bodies: %s)', async (name, chain) => {
    const answer = await ask(chain(), `question ${name}`)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    expect(answer.headers.get('x-cache')).toBe('miss')
    expect(answer.headers.get('x-routed-to')).toBe('bench-large')
    const body = (await answer.json()) as { model: string; choices: [{ message: { content: string } }] }
    expect(body.model).toBe('bench')
    expect(body.choices[0].message.content).toBe(
      'Ask [email], pay with [card], this is [removed]. Order 4111 1111 1111 1112.',
    )
    const sent = engine.requests.at(-1)!
    const asked = JSON.parse(sent.body.toString()) as { model: string; messages: { role: string; content: string }[] }
    expect(asked.model).toBe('bench-large')
    expect(asked.messages.map(({ role }) => role)).toEqual(['system', 'user'])
    expect(asked.messages[0]!.content).toMatch(/^You are a helpful assistant of bench\. .*:00:00\.000Z\.$/)
    const names = Object.fromEntries(Object.entries(sent.headers).map(([key, value]) => [key.toLowerCase(), value]))
    expect(names['authorization']).toBeUndefined()
    expect(names).toMatchObject({ 'x-user': 'bench', 'x-tenant': 'bench', 'x-tier': 'vip' })
  })

  test('what was reserved is settled to what was used, and what cannot be had now is refused', async () => {
    const level = async () => Number(await redis.cli('HGET', 'limit:{bench}:tokens', 'level'))
    // Of 600, some 260 were reserved for each of two calls and 50 used; a second gives back ten.
    await until(async () => (await level()) > 480, 'the reservations are given back')
    const refused = await ask(each, 'too long '.repeat(300))
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  })

  test('the same question is answered from Redis', async () => {
    const before = engine.requests.length
    expect((await ask(each, 'question each')).headers.get('x-cache')).toBe('hit')
    expect(engine.requests.length).toBe(before)
  })

  test('nobody gets in without a token, and no path leads past the gateway', async () => {
    expect((await ask(each, 'third', 'a.b.c')).status).toBe(401)
    expect((await fetch(`http://127.0.0.1:${each.port}/v1/models`)).status).toBe(404)
  })
})
