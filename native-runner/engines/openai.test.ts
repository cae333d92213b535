import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, it, vi } from 'vitest'
import { startRunner } from '../runner.ts'

const messages = [{ role: 'user', content: 'one two three' }]

async function startUpstream(listener: RequestListener) {
  const server = createServer((request, response) => {
    if (request.url !== '/v1/models') return listener(request, response)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ data: [{ id: 'm', created: 5, max_model_len: 99 }] }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const close = () => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  }
  return { url, [Symbol.asyncDispose]: async () => void (await close()) }
}

async function chat(url: string, body: object, init: RequestInit = {}) {
  const headers = { 'content-type': 'application/json' }
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ messages, ...body }),
    ...init,
  })
}

const sse = (...events: (object | string)[]) =>
  events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('')

const chunk = (delta: object, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason }],
})

/** A runner in front of an upstream that always answers the same bytes. */
async function answering(bytes: string | Buffer, headers: Record<string, string> = {}, status = 200) {
  const upstream = await startUpstream((_request, response) => {
    response.writeHead(status, { 'content-type': 'text/event-stream', ...headers })
    response.end(bytes)
  })
  const runner = await startRunner({ engine: 'openai', upstream: upstream.url })
  const dispose = async () => {
    await runner[Symbol.asyncDispose]()
    await upstream[Symbol.asyncDispose]()
  }
  return { url: runner.url, runner, [Symbol.asyncDispose]: dispose }
}

describe('a runner behind a runner', () => {
  it('answers what the inner one answers, streamed and whole, with its usage', async () => {
    await using inner = await startRunner({ engine: 'echo' })
    await using outer = await startRunner({ engine: 'openai', upstream: `${inner.url}/v1/` })
    expect(outer.model).toBe('echo')
    for (const body of [{}, { n: 2 }, { max_tokens: 1 }]) {
      const [a, b]: any[] = await Promise.all([inner, outer].map(async ({ url }) => (await chat(url, body)).json()))
      expect({ ...b, id: '', created: 0 }).toEqual({ ...a, id: '', created: 0 })
    }
    const stream = { stream: true, stream_options: { include_usage: true } }
    const [a, b] = await Promise.all([inner, outer].map(async ({ url }) => (await chat(url, stream)).text()))
    const plain = (text: string) => text.replace(/"id":"[^"]*"/g, '').replace(/"created":\d+/g, '')
    expect(plain(b!)).toBe(plain(a!))
  })

  it('passes tokenize and embeddings on, and names the members that the inner one refuses', async () => {
    await using inner = await startRunner({ engine: 'echo' })
    await using outer = await startRunner({ engine: 'openai', upstream: inner.url })
    const post = (url: string, path: string, body: object) =>
      fetch(url + path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
    for (const [path, body] of [
      ['/tokenize', { messages }],
      ['/v1/embeddings', { input: ['a', 'b'] }],
    ] as const) {
      const [a, b] = await Promise.all([inner, outer].map(async ({ url }) => (await post(url, path, body)).json()))
      expect(b).toEqual(a)
    }
    const refused = await chat(outer.url, { temperature: 9 })
    expect(refused.status).toBe(400)
    expect(await refused.json()).toMatchObject({ error: { code: 'invalid_value', param: 'temperature' } })
    expect((await chat(outer.url, { model: 'none' })).status).toBe(404)
  })

  it('a client that leaves stops the innermost engine', async () => {
    await using inner = await startRunner({ engine: 'echo', repeat: 1e9, delayMs: 5 })
    await using outer = await startRunner({ engine: 'openai', upstream: inner.url })
    for (const stream of [true, false]) {
      const leave = new AbortController()
      const reply = chat(outer.url, { stream }, { signal: leave.signal }).then((response) => response.text())
      await vi.waitFor(() => expect(inner.engine.load().running).toBe(1), 2000)
      leave.abort()
      await expect(reply).rejects.toThrow()
      await vi.waitFor(() => expect(inner.engine.load().running).toBe(0), 1000)
      await vi.waitFor(() => expect(outer.engine.load().running).toBe(0), 1000)
    }
  })
})

it('a call’s trace goes on to the upstream, and nothing else of its headers', async () => {
  const heard: IncomingHttpHeaders[] = []
  await using upstream = await startUpstream(({ headers, url }, response) => {
    if (url === '/v1/chat/completions') heard.push(headers)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(sse(chunk({ content: 'a' }), chunk({}, 'stop'), '[DONE]'))
  })
  await using runner = await startRunner({ engine: 'openai', upstream: upstream.url })
  const trace = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'rojo=1' }
  const json = { 'content-type': 'application/json' }
  await (await chat(runner.url, {}, { headers: { ...json, ...trace, baggage: 'x=1' } })).text()
  await (await chat(runner.url, {})).text()
  expect(heard).toMatchObject([trace, {}])
  expect(heard[0]).not.toHaveProperty('baggage')
  expect(heard[1]).not.toHaveProperty('traceparent')
})

describe('an upstream that misbehaves', () => {
  it.each([
    ['ends without a finish_reason', sse(chunk({ content: 'a' }))],
    ['says [DONE] without a finish_reason', sse(chunk({ content: 'a' }), '[DONE]')],
    [
      'sends an error object',
      sse(chunk({ content: 'a' }), { choices: [], error: { code: 502, message: 'busy' } }, '[DONE]'),
    ],
    ['sends what is not JSON', sse(chunk({ content: 'a' }), '{oops')],
  ])('%s: the client sees an error event and no [DONE]', async (_what, bytes) => {
    await using front = await answering(bytes)
    const text = await (await chat(front.url, { stream: true })).text()
    expect(text).toContain('"content":"a"')
    expect(text).not.toContain('[DONE]')
    expect(text).not.toContain('"finish_reason":"')
    expect(JSON.parse(text.trim().split('\n\n').at(-1)!.slice(6)).error.type).toBe('upstream_error')
    expect((await chat(front.url, {})).status).toBe(502)
  })

  it('dies in the middle: the client sees an error event', async () => {
    await using upstream = await startUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(sse(chunk({ content: 'a' })), () => response.socket?.resetAndDestroy())
    })
    await using runner = await startRunner({ engine: 'openai', upstream: upstream.url })
    const text = await (await chat(runner.url, { stream: true })).text()
    expect(text).toContain('upstream_failed')
    expect(text).not.toContain('[DONE]')
  })

  it('falls silent: the client is told after the idle time', async () => {
    await using upstream = await startUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(sse(chunk({ content: 'a' })))
    })
    await using runner = await startRunner({ engine: 'openai', upstream: upstream.url, idleTimeoutMs: 300 })
    expect(await (await chat(runner.url, { stream: true })).text()).toContain('upstream_timeout')
  })

  it('sends an error object first: that is a 502, not an empty success', async () => {
    await using front = await answering(sse({ choices: [], error: { code: 502, message: 'busy' } }))
    const reply = await chat(front.url, { stream: true })
    expect(reply.status).toBe(502)
    expect(await reply.json()).toMatchObject({ error: { message: 'busy' } })
  })

  it.each([
    [401, 502],
    [404, 404],
    [429, 429],
    [500, 502],
    [503, 503],
  ])('answers %i: the client sees %i and its message', async (status, seen) => {
    await using front = await answering('{"error":{"message":"no such luck"}}', { 'retry-after': '7' }, status)
    const reply = await chat(front.url, {})
    expect(reply.status).toBe(seen)
    const { error }: any = await reply.json()
    expect(error.message).toBe(status === 401 ? "the upstream does not take this runner's key" : 'no such luck')
    expect(reply.headers.get('retry-after')).toBe(status === 401 ? null : '7')
  })

  it('cannot be reached: 503 until it is there', async () => {
    await using runner = await startRunner({ engine: 'openai', upstream: 'http://127.0.0.1:9' })
    expect((await chat(runner.url, {})).status).toBe(503)
    expect((await fetch(`${runner.url}/healthz/ready`)).status).toBe(503)
    expect((await fetch(`${runner.url}/healthz/live`)).status).toBe(200)
  })

  it('sends an event without an end: memory stays bounded and the client is told', async () => {
    await using front = await answering(`data: {"x":"${'a'.repeat(9_000_000)}`)
    expect((await chat(front.url, { stream: true })).status).toBe(502)
  })
})

describe('what comes through', () => {
  it('compressed events are decoded', async () => {
    await using front = await answering(gzipSync(sse(chunk({ content: 'hi' }), chunk({}, 'stop'), '[DONE]')), {
      'content-encoding': 'gzip',
    })
    expect(await (await chat(front.url, { stream: true })).text()).toContain('"content":"hi"')
  })

  it('a whole body where a stream was asked for becomes a stream', async () => {
    const whole = { choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }] }
    await using front = await answering(JSON.stringify(whole), { 'content-type': 'application/json' })
    const text = await (await chat(front.url, { stream: true })).text()
    expect(text).toContain('"delta":{"content":"hi"}')
    expect(text).toContain('[DONE]')
  })

  it('interleaved tool calls pass unchanged in a stream and are joined by index and id in a whole', async () => {
    const call = (index: number, id: string | undefined, name: string | undefined, args: string) =>
      chunk({
        tool_calls: [
          { index, ...(id ? { id, type: 'function' } : {}), function: { ...(name ? { name } : {}), arguments: args } },
        ],
      })
    const chunks = [
      call(0, 'a', 'f', ''),
      call(1, 'b', 'g', '{'),
      call(0, undefined, undefined, '{}'),
      call(1, undefined, undefined, '}'),
      call(0, 'c', 'h', '[]'),
    ]
    await using front = await answering(sse(...chunks, chunk({}, 'tool_calls'), '[DONE]'))
    const text = await (await chat(front.url, { stream: true })).text()
    for (const { choices } of chunks) expect(text).toContain(JSON.stringify(choices[0]!.delta))
    const body: any = await (await chat(front.url, {})).json()
    expect(body.choices[0]).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } })
    expect(body.choices[0].message.tool_calls).toEqual([
      { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } },
      { id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } },
      { id: 'c', type: 'function', function: { name: 'h', arguments: '[]' } },
    ])
  })
})
