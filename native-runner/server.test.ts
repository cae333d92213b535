import { connect } from 'node:net'
import { describe, expect, it, vi } from 'vitest'
import { chat, eventsFrom, post, startEcho, user } from './echo-fixture.ts'

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
    const last = eventsFrom(await cut.text()).at(-1)!
    expect(JSON.parse(last)).toMatchObject({ error: { code: 'shutting_down' } })

    const patient = await startEcho({ repeat: 20, delayMs: 5 })
    const whole = await chat(patient.url, { stream: true })
    const [text] = await Promise.all([whole.text(), patient.close()])
    expect(text).toContain('[DONE]')
    await expect(fetch(`${patient.url}/healthz/live`)).rejects.toThrow()
  })
})
