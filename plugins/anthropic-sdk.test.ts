import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Anthropic from '@anthropic-ai/sdk'
import { describe, expect, it } from 'vitest'
import { createMessageStream, messageFromCompletion } from './anthropic.ts'
import type { Chunk } from './chat.ts'
import { completionFromChunks } from './chunks.ts'
import { gatewayError } from './errors.ts'

const says = (delta: object, finish_reason: string | null = null): Chunk =>
  ({ id: 'chatcmpl-7', choices: [{ index: 0, delta, finish_reason }] }) as Chunk
const part = (index: number, args: string, head: object = {}) => ({
  tool_calls: [{ index, ...head, function: { ...('id' in head ? { name: `f${index}` } : {}), arguments: args } }],
})
const usage: Chunk = {
  choices: [],
  usage: { prompt_tokens: 9, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 5 } },
}
const hello = [
  says({ role: 'assistant', content: '' }),
  says({ content: 'Grüß ' }),
  says({ content: '🙂' }),
  says({}, 'stop'),
  usage,
]
const thoughtful = [
  says({ role: 'assistant', reasoning_content: 'let me ' }),
  says({ reasoning_content: 'see' }),
  says({ content: 'I look.' }),
  says(part(0, '', { id: 'a' })),
  says(part(0, '{"x":')),
  says(part(0, '"}"}')),
  says(part(1, '{}', { id: 'b' })),
  says({}, 'tool_calls'),
  usage,
]

const wire = (chunks: readonly Chunk[]): string => {
  const stream = createMessageStream('asked')
  return chunks.map((chunk) => stream.push(chunk)).join('') + stream.end()
}

/** Anthropic's own client in front of a server that answers with these bytes. */
async function clientOf(body: string, type = 'text/event-stream') {
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': type })
    for (const byte of Buffer.from(body)) response.write(Buffer.of(byte))
    response.end()
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    messages: new Anthropic({ baseURL, apiKey: 'k', maxRetries: 0 }).messages,
    [Symbol.asyncDispose]: async () => void (await new Promise((done) => server.close(done).closeAllConnections())),
  }
}
const question = { model: 'asked', max_tokens: 9, messages: [{ role: 'user' as const, content: 'hi' }] }

describe("Anthropic's own client", () => {
  it('reads a text stream', async () => {
    await using client = await clientOf(wire(hello))
    const stream = client.messages.stream(question)
    const texts: string[] = []
    stream.on('text', (text) => texts.push(text))
    expect(await stream.finalMessage()).toMatchObject({
      id: 'msg_7',
      role: 'assistant',
      model: 'asked',
      content: [{ type: 'text', text: 'Grüß 🙂' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 4, cache_read_input_tokens: 5, output_tokens: 3 },
    })
    expect(texts).toEqual(['Grüß ', '🙂'])
  })

  it('reads thinking, text and tool calls', async () => {
    await using client = await clientOf(wire(thoughtful))
    const message = await client.messages.stream(question).finalMessage()
    expect(message.stop_reason).toBe('tool_use')
    expect(message.content).toMatchObject([
      { type: 'thinking', thinking: 'let me see' },
      { type: 'text', text: 'I look.' },
      { type: 'tool_use', id: 'a', name: 'f0', input: { x: '}' } },
      { type: 'tool_use', id: 'b', name: 'f1', input: {} },
    ])
  })

  it('reads the raw events of create with stream', async () => {
    await using client = await clientOf(wire(hello))
    const types: string[] = []
    for await (const event of await client.messages.create({ ...question, stream: true })) types.push(event.type)
    expect(types).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ])
  })

  it('reads a whole message', async () => {
    const body = JSON.stringify(messageFromCompletion(completionFromChunks(thoughtful), 'asked'))
    await using client = await clientOf(body, 'application/json')
    const message = await client.messages.create(question)
    expect(message.content.map((block) => block.type)).toEqual(['thinking', 'text', 'tool_use', 'tool_use'])
    expect(message.usage).toMatchObject({ input_tokens: 4, output_tokens: 3 })
  })

  it('sees an error in band as an error of its type', async () => {
    const stream = createMessageStream('asked')
    const text = stream.push(says({ content: 'a' })) + stream.fail(gatewayError('runner_unreachable', 'gone'), 'req_1')
    await using client = await clientOf(text + stream.end() + stream.push(says({ content: 'b' })) + stream.ping())
    const failure = await client.messages
      .stream(question)
      .finalMessage()
      .catch((reason: unknown) => reason)
    expect(failure).toBeInstanceOf(Anthropic.APIError)
    expect(failure).toMatchObject({ type: 'overloaded_error', error: { request_id: 'req_1' } })
  })

  it('is not disturbed by heartbeats anywhere', async () => {
    const stream = createMessageStream('asked')
    const text = hello.map((chunk) => stream.ping() + stream.push(chunk)).join('')
    await using client = await clientOf(text + stream.ping() + stream.end())
    expect(await client.messages.stream(question).finalText()).toBe('Grüß 🙂')
  })
})
