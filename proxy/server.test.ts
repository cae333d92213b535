import { describe, expect, test } from 'vitest'
import { ask, get, post } from '../test/support/ask.ts'
import { chat, chatChunk, completion, dataEvent, sseHead } from '../test/support/chat-replies.ts'
import { connect } from '../test/support/client.ts'
import { startTestGateway } from '../test/support/gateway.ts'
import { failOnLeaks } from '../test/support/leaks.ts'
import { json } from '../test/support/reply.ts'
import { type Script, startUpstream } from '../test/support/upstream.ts'

failOnLeaks()

const request = { model: 'm', messages: [{ role: 'user', content: 'hello' }] }

async function startBoth(script: Script, listen: Readonly<Record<string, unknown>> = {}) {
  const u = await startUpstream(script)
  const gateway = await startTestGateway({ runners: [u.url], config: { listen } })
  return {
    u,
    gateway,
    url: gateway.url,
    async [Symbol.asyncDispose]() {
      await gateway.close()
      await u[Symbol.asyncDispose]()
    },
  }
}

describe('what is not HTTP', () => {
  test.each([
    ['words', 'hello there\r\n\r\n', 400],
    ['a method of its own', 'G@T / HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['a version of its own', 'GET / HTTP/9.9\r\nHost: x\r\n\r\n', 400],
    ['two lengths', 'POST /v1/files HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello', 400],
    [
      'a length and chunks',
      'POST /v1/files HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['chunks that are not last', 'POST /v1/files HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, gzip\r\n\r\n', 400],
    ['a header with a space before its colon', 'GET /v1/models HTTP/1.1\r\nHost: x\r\nX-Odd : 1\r\n\r\n', 400],
    ['a folded header', 'GET /v1/models HTTP/1.1\r\nHost: x\r\nX-Odd: 1\r\n 2\r\n\r\n', 400],
    ['a NUL in a header', 'GET /v1/models HTTP/1.1\r\nHost: x\r\nX-Odd: a\0b\r\n\r\n', 400],
    ['a head beyond the limit', `GET /v1/models HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(40_000)}\r\n\r\n`, 431],
    [
      'many headers beyond the limit',
      `GET /v1/models HTTP/1.1\r\nHost: x\r\n${'X-Many: x\r\n'.repeat(5_000)}\r\n`,
      431,
    ],
  ])('%s is refused in JSON, and the connection closed', async (_, text, status) => {
    await using both = await startBoth(json({ object: 'list', data: [] }))
    await using client = await connect(both.url)
    await client.write(text)
    const answer = await client.response()
    await answer.done()
    expect(answer.status).toBe(status)
    expect(answer.json().error.type).toBe('invalid_request_error')
    expect(answer.headers['x-layer-status']).toContain('auth=evaporation-bypassed;by=none')
    await client.closed()
    expect(both.u.requests).toHaveLength(0)
    expect((await get(`${both.url}/v1/models`)).status).toBe(200)
  })

  test('a head beyond the limit is answered though its sender is still sending', async () => {
    await using both = await startBoth(completion('hi'))
    await using client = await connect(both.url)
    await client.write('GET / HTTP/1.1\r\nHost: x\r\nX-Long: ')
    for (let i = 0; i < 10; i++) await client.write('x'.repeat(8_000))
    const answer = await client.response()
    await answer.done()
    expect([answer.status, answer.json().error.code]).toEqual([431, 'header_fields_too_large'])
    await client.closed()
  })

  test('rubbish behind a call does not get into the answer to the call', async () => {
    const word = dataEvent(chatChunk({ content: 'hi' }))
    await using both = await startBoth(sseHead().send(word).stall())
    await using client = await connect(`${both.url}/v1/chat/completions`)
    await client.request({ body: { ...request, stream: true } })
    const response = await client.response()
    await response.shows('hi')
    await client.write('rubbish\r\n\r\n')
    await client.closed()
    expect(response.text).toBe(word)
    await both.u.closed(0)
  })
})

describe('the status of the layers', () => {
  test.each([
    ['an unknown path', { path: '/nowhere' }, 404],
    ['a method that a route does not know', { path: '/v1/chat/completions' }, 405],
    ['a method that nobody knows', { path: '/v1/chat/completions', method: 'MKCOL' }, 405],
    ['a body that is no JSON', { path: '/v1/messages', body: '{' }, 400],
    ['a bad escape', { path: '/v1/%zz' }, 400],
    ['a body that is too large', { path: '/v1/chat/completions', body: 'x'.repeat(5_000) }, 413],
    ['a body in a coding', { path: '/v1/chat/completions', body: '{}', headers: { 'Content-Encoding': 'br' } }, 415],
    ['models', { path: '/v1/models' }, 200],
    ['the head of models', { path: '/v1/models', method: 'HEAD' }, 200],
    ['feedback on nothing', { path: '/v1/feedback', body: { id: 'x', score: 1 } }, 404],
    ['a call', { path: '/v1/chat/completions', body: request }, 200],
    ['a path passed on', { path: '/v1/files' }, 200],
  ])('is on the answer to %s', async (_, asked, status) => {
    await using both = await startBoth((seen) => (seen.method === 'POST' ? chat('hi')(seen) : json({ data: [] })), {
      bodyLimitBytes: 4_096,
    })
    const answer = await ask(both.url, asked)
    expect(answer.status, answer.text).toBe(status)
    expect(answer.headers['x-layer-status']).toMatch(/^auth=.*postprocess=/)
    expect(answer.headers['x-request-id']).toBeTruthy()
  })
})

test('a body that is refused is counted on the route it was meant for', async () => {
  await using both = await startBoth(completion('hi'), { bodyLimitBytes: 2_048 })
  await post(`${both.url}/v1/messages?beta=true`, 'x'.repeat(4_000))
  const { text } = await get(`${both.gateway.adminUrl}/metrics`)
  expect(text).toMatch(/foldgate_requests_total\{[^}]*route="messages"[^}]*code="413"[^}]*\} 1/)
})

test('one that speaks HTTP/1.0 is answered and its connection closed', async () => {
  await using both = await startBoth(chat('one two three'))
  await using client = await connect(both.url)
  const body = JSON.stringify({ ...request, stream: true })
  await client.write(`POST /v1/chat/completions HTTP/1.0\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  const answer = await client.response()
  await answer.done()
  expect(answer.headers).not.toHaveProperty('transfer-encoding')
  expect(answer.text).toMatch(/\[DONE\]\n\n$/)
})
