import { connect } from 'node:net'
import OpenAI from 'openai'
import { describe, expect, it, vi } from 'vitest'
import { type RunnerOptions, startRunner } from './runner.ts'

type Echo = Omit<RunnerOptions & { engine: 'echo' }, 'engine'>

const startEcho = (options: Echo = {}) => startRunner({ engine: 'echo', ...options })
const user = (content: string) => [{ role: 'user' as const, content }]

async function post(url: string, body: unknown, init: RequestInit = {}) {
  const headers = { 'content-type': 'application/json', ...(init.headers as Record<string, string>) }
  const sent = typeof body === 'string' ? body : JSON.stringify(body)
  return fetch(url, { method: 'POST', body: sent, ...init, headers })
}

const chat = (url: string, body: object, init?: RequestInit) =>
  post(`${url}/v1/chat/completions`, { messages: user('one two three'), ...body }, init)

const events = (text: string) =>
  text
    .split('\n\n')
    .filter(Boolean)
    .map((event) => event.replace(/^data: /, ''))

const parsedEvents = (text: string): any[] =>
  events(text)
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
    expect(events(text).at(-1)).toBe('[DONE]')
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
    expect(JSON.parse(events(text).at(-1)!)).toMatchObject({ error: { code: 'engine_failed', type: 'server_error' } })
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

describe('refusals', () => {
  it.each([
    ['{', 400, 'invalid_json', null],
    ['[]', 400, 'invalid_value', null],
    [{ messages: undefined }, 400, 'missing_parameter', 'messages'],
    [{ messages: [] }, 400, 'invalid_value', 'messages'],
    [{ messages: [{ role: 'king', content: '' }] }, 400, 'invalid_value', 'messages[0].role'],
    [{ messages: [{ role: 'user', content: 7 }] }, 400, 'invalid_value', 'messages[0].content'],
    [
      { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] },
      400,
      'unsupported_parameter',
      'messages[0].content[0].type',
    ],
    [{ model: 'gpt-9' }, 404, 'model_not_found', 'model'],
    [{ model: 7 }, 400, 'invalid_value', 'model'],
    [{ temperature: 3 }, 400, 'invalid_value', 'temperature'],
    [{ temperature: 'hot' }, 400, 'invalid_value', 'temperature'],
    [{ max_tokens: 0 }, 400, 'invalid_value', 'max_tokens'],
    [{ n: 17 }, 400, 'invalid_value', 'n'],
    [{ stop: [''] }, 400, 'invalid_value', 'stop[0]'],
    [{ stream: 'yes' }, 400, 'invalid_value', 'stream'],
    [{ stream_options: { include_usage: true } }, 400, 'invalid_value', 'stream_options'],
    [{ logprobs: true }, 400, 'unsupported_parameter', 'logprobs'],
    [{ response_format: { type: 'json_object' } }, 400, 'unsupported_parameter', 'response_format'],
    [{ tool_choice: 'required' }, 400, 'unsupported_parameter', 'tool_choice'],
    [{ logit_bias: { word: 1 } }, 400, 'invalid_value', 'logit_bias.word'],
  ])('%j is refused %i %s naming %s', async (body, status, code, param) => {
    await using runner = await startEcho()
    const reply =
      typeof body === 'string' ? await post(`${runner.url}/v1/chat/completions`, body) : await chat(runner.url, body)
    expect(reply.status).toBe(status)
    expect(await reply.json()).toMatchObject({ error: { code, param, message: expect.stringMatching(/^[a-z0-9 "']/) } })
  })

  it('a prompt that leaves no room for an answer is refused before any compute', async () => {
    let tokens = 0
    await using runner = await startEcho({ contextTokens: 20, onToken: () => void tokens++ })
    const reply = await chat(runner.url, { messages: user('word '.repeat(18)), stream: true })
    expect(reply.status).toBe(400)
    expect(await reply.json()).toMatchObject({ error: { code: 'context_length_exceeded', param: 'messages' } })
    expect(tokens).toBe(0)
  })

  it('an unknown path is 404, a wrong method 405, a wrong content type 415, a large body 413', async () => {
    await using runner = await startEcho({ server: { bodyLimitBytes: 1000 } })
    expect((await fetch(`${runner.url}/v1/none`)).status).toBe(404)
    const wrong = await fetch(`${runner.url}/v1/chat/completions`)
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST'])
    expect((await chat(runner.url, {}, { headers: { 'content-type': 'text/plain' } })).status).toBe(415)
    expect((await chat(runner.url, { messages: user('x'.repeat(2000)) })).status).toBe(413)
  })

  it('a full queue is 429 with Retry-After, and the place is free again afterwards', async () => {
    await using runner = await startEcho({ slots: 1, maxQueue: 0, repeat: 1e9 })
    const leave = new AbortController()
    const running = await chat(runner.url, { stream: true }, { signal: leave.signal })
    const refused = await chat(runner.url, {})
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(await refused.json()).toMatchObject({ error: { code: 'queue_full', type: 'rate_limit_error' } })
    leave.abort()
    await expect(running.text()).rejects.toThrow()
    await vi.waitFor(() => expect(runner.engine.load().running).toBe(0), 2000)
  })
})

describe('the api key', () => {
  it('opens everything, and only health is open without it', async () => {
    await using runner = await startEcho({ server: { apiKey: 'k'.repeat(32) } })
    const status = async (path: string, authorization?: string) =>
      (await fetch(runner.url + path, authorization ? { headers: { authorization } } : {})).status
    expect(await status('/healthz/live')).toBe(200)
    expect(await status('/v1/models')).toBe(401)
    expect(await status('/metrics')).toBe(401)
    expect(await status('/nothing')).toBe(401)
    expect(await status('/v1/models', `Bearer ${'k'.repeat(31)}`)).toBe(401)
    expect(await status('/v1/models', `Basic ${'k'.repeat(32)}`)).toBe(401)
    expect(await status('/v1/models', `Bearer ${'k'.repeat(32)}`)).toBe(200)
  })
})

describe('operations', () => {
  it('models, health and metrics tell what is there', async () => {
    await using runner = await startEcho({ model: 'parrot' })
    await chat(runner.url, { model: 'parrot' })
    const models: any = await (await fetch(`${runner.url}/v1/models`)).json()
    expect(models.data).toMatchObject([{ id: 'parrot', object: 'model', max_model_len: 8192 }])
    expect((await fetch(`${runner.url}/v1/models/parrot`)).status).toBe(200)
    expect((await fetch(`${runner.url}/v1/models/other`)).status).toBe(404)
    for (const probe of ['live', 'ready', 'startup'])
      expect((await fetch(`${runner.url}/healthz/${probe}`)).status).toBe(200)
    const metrics = await (await fetch(`${runner.url}/metrics`)).text()
    expect(metrics).toContain('foldgate_runner_requests_total{route="/v1/chat/completions",code="200"} 1')
    expect(metrics).toContain('foldgate_runner_tokens_total{kind="completion"} 3')
    expect(metrics).toContain('kv_cache_hit_ratio 0')
  })
})

describe('readers', () => {
  it('one who leaves before the first token, between tokens, or while queued stops the engine', async () => {
    let tokens = 0
    const onToken = () => void tokens++
    await using runner = await startEcho({ slots: 1, repeat: 1e9, delayMs: 5, onToken })
    for (const stream of [true, false]) {
      const leave = new AbortController()
      const running = chat(runner.url, { stream }, { signal: leave.signal }).then((reply) => reply.text())
      const queued = chat(runner.url, { stream }, { signal: leave.signal }).then((reply) => reply.text())
      await vi.waitFor(() => expect(runner.engine.load()).toMatchObject({ running: 1, queued: 1 }), 2000)
      leave.abort()
      await Promise.all([expect(running).rejects.toThrow(), expect(queued).rejects.toThrow()])
      await vi.waitFor(() => expect(runner.engine.load()).toMatchObject({ running: 0, queued: 0 }), 1000)
    }
    expect(tokens).toBeGreaterThan(0)
  })

  it('one who reads nothing stops generation, and is cut off in the end', async () => {
    let tokens = 0
    const onToken = () => void tokens++
    await using runner = await startEcho({ repeat: 1e9, onToken, server: { writeStallTimeoutMs: 300 } })
    const body = JSON.stringify({ stream: true, messages: user('twelveletter '.repeat(50)) })
    const { hostname, port } = new URL(runner.url)
    const socket = connect(Number(port), hostname)
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.on('error', () => undefined)
    socket.pause()
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    )
    await vi.waitFor(() => expect(runner.engine.load().running).toBe(1), 2000)
    await vi.waitFor(() => expect(runner.engine.load().running).toBe(0), 8000)
    // Two megabytes of socket buffers on either side, at more than 200 bytes a token.
    expect(tokens).toBeLessThan(100_000)
    socket.resume()
    await closed
  })

  it('those in flight when the runner stops end well within the grace, and with an error event after it', async () => {
    const runner = await startEcho({ repeat: 1e9, delayMs: 5 })
    const cut = await chat(runner.url, { stream: true })
    await runner.close(50)
    const last = events(await cut.text()).at(-1)!
    expect(JSON.parse(last)).toMatchObject({ error: { code: 'shutting_down' } })

    const patient = await startEcho({ repeat: 20, delayMs: 5 })
    const whole = await chat(patient.url, { stream: true })
    const [text] = await Promise.all([whole.text(), patient.close()])
    expect(text).toContain('[DONE]')
    await expect(fetch(`${patient.url}/healthz/live`)).rejects.toThrow()
  })
})
