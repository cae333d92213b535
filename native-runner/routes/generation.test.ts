import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { chat, eventsFrom, post, startEcho, user } from '../echo-fixture.ts'

const parsedEvents = (text: string): any[] =>
  eventsFrom(text)
    .filter((event) => event !== '[DONE]')
    .map((event) => JSON.parse(event))

describe('chat', () => {
  it('a whole answer has the OpenAI shape and exact usage', async () => {
    await using runner = await startEcho()
    const reply = await chat(runner.url, {})
    const body: any = await reply.json()
    expect(reply.status).toBe(200)
    expect(body).toMatchObject({ object: 'chat.completion', model: 'echo' })
    expect(body.choices).toEqual([
      {
        index: 0,
        message: { role: 'assistant', content: 'one two three', refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ])
    const counted: any = await (await post(`${runner.url}/tokenize`, { messages: user('one two three') })).json()
    expect(body.usage).toMatchObject({
      prompt_tokens: counted.count,
      completion_tokens: 3,
      total_tokens: counted.count + 3,
    })
    expect(counted.tokens).toHaveLength(counted.count)
  })

  it('a stream opens with the role, ends with the reason, the usage and [DONE]', async () => {
    await using runner = await startEcho()
    const reply = await chat(runner.url, { stream: true, stream_options: { include_usage: true } })
    expect(reply.headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect(reply.headers.get('cache-control')).toBe('no-store, no-transform')
    expect(reply.headers.get('x-accel-buffering')).toBe('no')
    const text = await reply.text()
    expect(eventsFrom(text).at(-1)).toBe('[DONE]')
    const chunks = parsedEvents(text)
    expect(chunks.map((chunk) => chunk.choices[0]?.delta)).toEqual([
      { role: 'assistant', content: '' },
      { content: 'one' },
      { content: ' two' },
      { content: ' three' },
      {},
      undefined,
    ])
    expect(chunks.at(-2).choices[0].finish_reason).toBe('stop')
    expect(chunks.at(-2).usage).toBeNull()
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 3 } })
    expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1)
  })

  it('a stream without include_usage has no usage member at all', async () => {
    await using runner = await startEcho()
    const chunks = parsedEvents(await (await chat(runner.url, { stream: true })).text())
    expect(chunks.some((chunk) => 'usage' in chunk)).toBe(false)
  })

  it('n choices are told apart by index, and the prompt is counted once', async () => {
    await using runner = await startEcho()
    const body: any = await (await chat(runner.url, { n: 3 })).json()
    expect(body.choices.map((choice: any) => [choice.index, choice.message.content])).toEqual([
      [0, 'one two three'],
      [1, 'one two three'],
      [2, 'one two three'],
    ])
    const single: any = await (await chat(runner.url, {})).json()
    expect(body.usage.prompt_tokens).toBe(single.usage.prompt_tokens)
    expect(body.usage.completion_tokens).toBe(9)
  })

  it.each([
    ['max_tokens', { max_tokens: 2 }, 'one two', 'length'],
    ['max_completion_tokens before max_tokens', { max_tokens: 3, max_completion_tokens: 1 }, 'one', 'length'],
    ['a stop string', { stop: ' three' }, 'one two', 'stop'],
    ['a stop string across pieces', { stop: ['e tw'] }, 'on', 'stop'],
    ['a stop string that never comes', { stop: ['three four'] }, 'one two three', 'stop'],
  ])('%s ends the answer', async (_what, members, content, reason) => {
    await using runner = await startEcho()
    const body: any = await (await chat(runner.url, members)).json()
    expect(body.choices[0].message.content).toBe(content)
    expect(body.choices[0].finish_reason).toBe(reason)
    const streamed = parsedEvents(await (await chat(runner.url, { ...members, stream: true })).text())
    expect(streamed.map((chunk) => chunk.choices[0].delta.content ?? '').join('')).toBe(content)
  })

  it('the official client reads it, streamed and whole', async () => {
    await using runner = await startEcho()
    const client = new OpenAI({ baseURL: `${runner.url}/v1`, apiKey: 'none', maxRetries: 0 })
    const whole = await client.chat.completions.create({ model: 'echo', messages: user('hi there') })
    expect(whole.choices[0]?.message.content).toBe('hi there')
    let text = ''
    for await (const chunk of await client.chat.completions.create({
      model: 'echo',
      messages: user('hi there'),
      stream: true,
    }))
      text += chunk.choices[0]?.delta.content ?? ''
    expect(text).toBe('hi there')
    const { data } = await client.embeddings.create({
      model: 'echo',
      input: ['cats and dogs', 'dogs and cats', 'tax law'],
    })
    const dot = (a: number, b: number) =>
      data[a]!.embedding.reduce((sum, value, at) => sum + value * data[b]!.embedding[at]!, 0)
    expect(dot(0, 1)).toBeCloseTo(1)
    expect(dot(0, 2)).toBeLessThan(0.9)
  })

  it('a failure after the first token is an error event, and no [DONE]', async () => {
    await using runner = await startEcho({ failAfterTokens: 2 })
    const text = await (await chat(runner.url, { stream: true })).text()
    expect(JSON.parse(eventsFrom(text).at(-1)!)).toMatchObject({
      error: { code: 'engine_failed', type: 'server_error' },
    })
    expect(text).not.toContain('[DONE]')
    expect(text).not.toContain('"finish_reason":"')
  })

  it('a failure before the first token is a plain 500', async () => {
    await using runner = await startEcho({ failAfterTokens: 0 })
    const reply = await chat(runner.url, { stream: true })
    expect(reply.status).toBe(500)
    expect(await reply.json()).toMatchObject({ error: { code: 'engine_failed' } })
  })
})

describe('completions', () => {
  it('several prompts make numbered choices, of 16 tokens at most unless asked otherwise', async () => {
    await using runner = await startEcho()
    const long = 'word '.repeat(30).trim()
    const body: any = await (await post(`${runner.url}/v1/completions`, { prompt: ['a b', long], n: 2 })).json()
    expect(body.object).toBe('text_completion')
    expect(body.choices.map((choice: any) => choice.index)).toEqual([0, 1, 2, 3])
    expect(body.choices[0].text).toBe('a b')
    expect(body.choices[2]).toMatchObject({ text: 'word '.repeat(16).trim(), finish_reason: 'length' })
    expect(body.usage).toMatchObject({ prompt_tokens: 32, completion_tokens: 2 * 2 + 2 * 16 })
  })
})
