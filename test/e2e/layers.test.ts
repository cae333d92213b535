import { describe, expect, it } from 'vitest'
import { layers } from '../../plugins/index.ts'
import { post } from '../support/ask.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { redisAvailable, startRedis } from '../support/redis.ts'
import { streamedText } from '../support/sse-events.ts'
import { type Stack, type StackOptions, startStack } from './stack.ts'

failOnLeaks()

const bearer = (key: string) => ({ Authorization: `Bearer ${key}` })
const body = (content: string, more: object = {}) => ({ model: 'echo', messages: [{ role: 'user', content }], ...more })
const ask = (stack: Stack, content: string, more: object = {}, key = stack.key) =>
  post(`${stack.gateway.url}/v1/chat/completions`, body(content, more), bearer(key))

const all = layers.map(({ name }) => `${name}=active;by=gateway`).join(', ')

/** The same facts with each store. */
function behaves(title: string, start: (options?: StackOptions) => Promise<Stack>): void {
  describe(title, () => {
    it('says on every answer where each layer ran', async () => {
      await using stack = await start()
      expect((await ask(stack, 'hi')).headers['x-layer-status']).toBe(all)
      const refused = await ask(stack, 'hi', {}, 'wrong')
      expect(refused.status).toBe(401)
      expect(refused.headers['x-layer-status']).toMatch(
        /^auth=active;by=gateway, rate-limit=evaporation-bypassed;by=none/,
      )
      const lost = await post(`${stack.gateway.url}/nowhere`, {}, bearer(stack.key))
      expect(lost.headers['x-layer-status']).toMatch(/^auth=evaporation-bypassed;by=none/)
    })

    it('replays a stored answer in whatever shape is asked, and asks the runner once', async () => {
      await using stack = await start()
      const first = await ask(stack, 'tell me')
      expect(first.headers['cache-status']).toContain('fwd=')
      const again = await ask(stack, 'tell me', { stream: true })
      expect(again.headers['cache-status']).toContain('hit')
      expect(streamedText(again.body)).toBe('tell me')
      expect(again.text.endsWith('data: [DONE]\n\n')).toBe(true)
      expect(await stack.asked()).toBe(1)
    })

    it('never gives one tenant an answer of another', async () => {
      await using stack = await start()
      await ask(stack, 'secret')
      const other = await ask(stack, 'secret', {}, stack.otherKey)
      expect(other.headers['cache-status']).not.toContain('hit')
      expect(await stack.asked()).toBe(2)
    })

    it('answers 429 by tokens, with when to come again, and lets another tenant pass', async () => {
      await using stack = await start({
        layers: { 'rate-limit': { limits: [{ key_fields: ['tenant'], tokens_per_minute: 60, burst_capacity: 120 }] } },
      })
      const statuses: number[] = []
      let refused = await ask(stack, 'word '.repeat(20), { max_tokens: 20, seed: 0 })
      for (let n = 1; n < 12 && refused.status !== 429; n++) {
        statuses.push(refused.status)
        refused = await ask(stack, 'word '.repeat(20), { max_tokens: 20, seed: n })
      }
      expect(statuses.length).toBeGreaterThan(0)
      expect(refused.status).toBe(429)
      expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1)
      expect(refused.headers['x-ratelimit-limit-tokens']).toBe('120')
      expect(refused.headers['ratelimit']).toBeTruthy()
      expect(refused.json()).toMatchObject({ error: { type: 'rate_limit_error', code: 'rate_limited' } })
      expect((await ask(stack, 'word', {}, stack.otherKey)).status).toBe(200)
    })

    it('redacts what must not leave, across the pieces of a stream', async () => {
      await using stack = await start()
      const answer = await ask(stack, 'write to jane.doe@example.com today', { stream: true })
      const text = streamedText(answer.body)
      expect(text).not.toContain('jane.doe')
      expect(text).toMatch(/^write to .* today$/)
    })

    it('refuses an answer that breaks the asked schema, with 422', async () => {
      await using stack = await start({ layers: { postprocess: { onInvalid: 'refuse' } } })
      const schema = {
        type: 'object',
        properties: { n: { type: 'integer' } },
        required: ['n'],
        additionalProperties: false,
      }
      const response_format = { type: 'json_schema', json_schema: { name: 'n', schema } }
      const bad = await ask(stack, 'not json', { response_format })
      expect(bad.status).toBe(422)
      expect(bad.json()).toMatchObject({ error: { code: 'output_invalid' } })
      const good = await ask(stack, '{"n":1}', { response_format })
      expect(good.status).toBe(200)
    })
  })
}

behaves('all six layers on the embedded store', startStack)

describe.skipIf(!redisAvailable)('with Redis', { timeout: 40_000 }, () => {
  behaves('all six layers on Redis', async (options = {}) => {
    const redis = (await startRedis())!
    const stack = await startStack({
      ...options,
      config: { ...options.config, store: { kind: 'redis', url: redis.url } },
    })
    return {
      ...stack,
      async [Symbol.asyncDispose]() {
        await stack[Symbol.asyncDispose]()
        await redis[Symbol.asyncDispose]()
      },
    }
  })
})
