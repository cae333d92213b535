import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { failOnLeaks } from '../support/leaks.ts'
import { startStack } from './stack.ts'

failOnLeaks()

const says = (content: string) => [{ role: 'user' as const, content }]

describe('the official OpenAI SDK, through all six layers', () => {
  it('gets a whole answer with exact usage', async () => {
    await using stack = await startStack()
    const client = new OpenAI({ baseURL: `${stack.gateway.url}/v1`, apiKey: stack.key })
    const answer = await client.chat.completions.create({ model: 'gpt-4o', messages: says('hello there') })
    expect(answer.choices[0]?.message.content).toBe('hello there')
    expect(answer.usage?.completion_tokens).toBeGreaterThan(0)
  })

  it('gets a stream, with usage only where it asked', async () => {
    await using stack = await startStack()
    const client = new OpenAI({ baseURL: `${stack.gateway.url}/v1`, apiKey: stack.key })
    for (const include_usage of [false, true]) {
      const stream = await client.chat.completions.create({
        model: 'echo',
        messages: says(`one two three ${include_usage}`),
        stream: true,
        stream_options: { include_usage },
      })
      let text = ''
      let usage = 0
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? ''
        if (chunk.usage) usage++
      }
      expect(text).toBe(`one two three ${include_usage}`)
      expect(usage).toBe(include_usage ? 1 : 0)
    }
  })

  it('gets embeddings, legacy completions and the list of models', async () => {
    await using stack = await startStack()
    const client = new OpenAI({ baseURL: `${stack.gateway.url}/v1`, apiKey: stack.key })
    const embedded = await client.embeddings.create({ model: 'echo', input: ['a', 'b'], encoding_format: 'float' })
    expect(embedded.data).toHaveLength(2)
    const completed = await client.completions.create({ model: 'echo', prompt: 'say it' })
    expect(completed.choices[0]?.text).toContain('say it')
    const models = await client.models.list()
    expect(models.data.map(({ id }) => id)).toContain('echo')
  })

  it('throws the classes it knows for what is refused', async () => {
    await using stack = await startStack()
    const client = (apiKey: string) => new OpenAI({ baseURL: `${stack.gateway.url}/v1`, apiKey, maxRetries: 0 })
    const call = (apiKey: string, model: string) =>
      client(apiKey).chat.completions.create({ model, messages: says('x') })
    await expect(call('wrong', 'echo')).rejects.toBeInstanceOf(OpenAI.AuthenticationError)
    await expect(call(stack.key, 'no-such-model')).rejects.toBeInstanceOf(OpenAI.NotFoundError)
    await expect(client(stack.key).chat.completions.create({ model: 'echo', messages: [] })).rejects.toMatchObject({
      status: 400,
      param: 'messages',
    })
  })
})

describe('the official Anthropic SDK, through all six layers', () => {
  it('gets a message', async () => {
    await using stack = await startStack()
    const client = new Anthropic({ baseURL: stack.gateway.url, apiKey: stack.key })
    const message = await client.messages.create({
      model: 'claude-sonnet',
      max_tokens: 100,
      messages: says('hello there'),
    })
    expect(message.content).toMatchObject([{ type: 'text', text: 'hello there' }])
    expect(message.stop_reason).toBe('end_turn')
    expect(message.usage.output_tokens).toBeGreaterThan(0)
  })

  it('gets a stream', async () => {
    await using stack = await startStack()
    const client = new Anthropic({ baseURL: stack.gateway.url, apiKey: stack.key })
    const stream = client.messages.stream({ model: 'claude-sonnet', max_tokens: 100, messages: says('one two three') })
    const message = await stream.finalMessage()
    expect(message.content).toMatchObject([{ type: 'text', text: 'one two three' }])
    expect(message.usage.output_tokens).toBeGreaterThan(0)
  })

  it('gets errors in its own dialect', async () => {
    await using stack = await startStack()
    const client = (apiKey: string) => new Anthropic({ baseURL: stack.gateway.url, apiKey, maxRetries: 0 })
    const call = (apiKey: string) =>
      client(apiKey).messages.create({ model: 'nope', max_tokens: 5, messages: says('x') })
    await expect(call('wrong')).rejects.toBeInstanceOf(Anthropic.AuthenticationError)
    await expect(call(stack.key)).rejects.toMatchObject({
      error: { type: 'error', error: { type: 'not_found_error' } },
    })
  })
})
