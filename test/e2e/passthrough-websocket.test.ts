import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { createApiKey } from '../../plugins/auth/api-key.ts'
import { ask, get } from '../support/ask.ts'
import { until } from '../support/gate.ts'
import { startTestGateway } from '../support/gateway.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { json, rawReply } from '../support/reply.ts'
import { startUpstream } from '../support/upstream.ts'

failOnLeaks()

const { key } = createApiKey()
const hash = createHash('sha256').update(key).digest('hex')
const auth = { apiKeys: [{ id: 'one', hash, tenant: 't1', tier: 'free' }] }
const bearer = { Authorization: `Bearer ${key}` }
const ok = json({ ok: true })
const bypassed = /auth=evaporation-bypassed;by=none/

describe('WebSockets', () => {
  test('pass both ways, behind auth, with the runner’s credential and none of the caller’s', async () => {
    await using server = await startEcho()
    await using gateway = await startTestGateway({
      runners: [{ url: server.url, headers: { Authorization: 'Bearer of-the-runner' } }],
      layers: { auth },
    })
    const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/realtime?model=m&key=sk-query`, {
      headers: { ...bearer, Cookie: 'sk-cookie', 'OpenAI-Beta': 'realtime=v1' },
    })
    const [[answer]] = (await Promise.all([once(socket, 'upgrade'), once(socket, 'open')])) as [
      [IncomingMessage],
      unknown,
    ]
    expect(answer.headers['x-layer-status']).toContain('auth=active;by=gateway')
    expect(answer.headers['set-cookie']).toBeUndefined()
    for (const text of ['hello', 'x'.repeat(200_000)]) {
      socket.send(text)
      expect(String((await once(socket, 'message'))[0])).toBe(text)
    }
    const [request] = server.requests
    expect(request?.url).toBe('/v1/realtime?model=m')
    expect(request?.headers.authorization).toBe('Bearer of-the-runner')
    expect(request?.headers['openai-beta']).toBe('realtime=v1')
    expect(request?.headers.cookie).toBeUndefined()
    socket.close(1000)
    await once(socket, 'close')
    await until(() => gateway.lines.some(({ status }) => status === 101), 'the log tells')
  })

  test('are refused without a credential, and the runner hears nothing', async () => {
    await using server = await startEcho()
    await using gateway = await startTestGateway({ runners: [server.url], layers: { auth } })
    const [answer, body] = await refusedSocket(`${gateway.url}/v1/realtime`)
    expect([answer.statusCode, JSON.parse(body).error.code]).toEqual([401, 'unauthenticated'])
    expect(answer.headers['x-layer-status']).toContain('auth=active;by=gateway')
    expect(server.requests).toHaveLength(0)
  })

  test.each(['/v2/realtime', '/v1/chat/completions', '/v1/%2e%2e/metrics'])('are refused on %s', async (path) => {
    await using server = await startEcho()
    await using gateway = await startTestGateway({ runners: [server.url] })
    const answer = await ask(gateway.url, {
      path,
      headers: {
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
        'Sec-WebSocket-Version': '13',
      },
    })
    expect([400, 404, 405]).toContain(answer.status)
    expect(server.requests).toHaveLength(0)
  })

  test('get the answer of a runner that speaks none', async () => {
    await using u = await startUpstream(json({ error: 'no sockets here' }, 426, { 'Set-Cookie': 'a=b' }))
    await using gateway = await startTestGateway({ runners: [u.url] })
    const [answer, body] = await refusedSocket(`${gateway.url}/v1/realtime`)
    expect([answer.statusCode, JSON.parse(body)]).toEqual([426, { error: 'no sockets here' }])
    expect(answer.headers['x-layer-status']).toMatch(bypassed)
    expect(answer.headers['set-cookie']).toBeUndefined()
  })

  test('are answered 503 when the runner is down, and 504 when it does not answer', async () => {
    const dead = await startUpstream(ok)
    await dead.close()
    await using mute = await startUpstream(rawReply().stall())
    for (const [url, status] of [
      [dead.url, 503],
      [mute.url, 504],
    ] as const) {
      await using gateway = await startTestGateway({ runners: [{ url, firstByteTimeoutMs: 500 }] })
      const [answer] = await refusedSocket(`${gateway.url}/v1/realtime`)
      expect(answer.statusCode).toBe(status)
      expect(answer.headers['x-layer-status']).toMatch(bypassed)
    }
  })

  test('that vanish during the handshake or later harm nobody, and take the runner’s side along', async () => {
    await using server = await startEcho()
    await using mute = await startUpstream(rawReply().stall())
    await using waiting = await startTestGateway({ runners: [mute.url] })
    const early = new WebSocket(`${waiting.url.replace('http', 'ws')}/v1/realtime`)
    early.on('error', () => undefined)
    await mute.began(0)
    early.terminate()
    await mute.closed(0, 1_000)
    await using gateway = await startTestGateway({ runners: [server.url] })
    const late = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/realtime`)
    await once(late, 'open')
    late.terminate()
    await until(() => server.open() === 0, 'the runner’s side is closed')
    expect((await get(`${gateway.url}/v1/files`)).status).toBe(404)
  })

  test('that are open do not keep the gateway from ending', async () => {
    await using server = await startEcho()
    const gateway = await startTestGateway({ runners: [server.url] })
    const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/realtime`)
    socket.on('error', () => undefined)
    await once(socket, 'open')
    const closed = once(socket, 'close')
    await gateway.close()
    await closed
    await until(() => server.open() === 0, 'the runner’s side is closed')
  })
})

async function startEcho() {
  const requests: IncomingMessage[] = []
  const server = createServer((_, response) => response.writeHead(404).end())
  const sockets = new WebSocketServer({ server })
  sockets.on('headers', (headers) => headers.push('Set-Cookie: a=b'))
  sockets.on('connection', (socket, request) => {
    requests.push(request)
    socket.on('message', (message) => socket.send(String(message)))
    socket.on('error', () => undefined)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    open: () => sockets.clients.size,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets.clients) socket.terminate()
      sockets.close()
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

async function refusedSocket(url: string): Promise<[IncomingMessage, string]> {
  const socket = new WebSocket(url.replace('http', 'ws'))
  socket.on('error', () => undefined)
  const [, answer] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage]
  const parts: Buffer[] = []
  for await (const part of answer) parts.push(part)
  return [answer, Buffer.concat(parts).toString()]
}
