import { brotliDecompressSync, createGunzip, zstdDecompressSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { ask, begin, post, postLive } from './ask.ts'
import { byPath, chat, chatChunk, DONE, dataEvent, fault, sse, sseHead, streamed } from './chat-replies.ts'
import { connect } from './client.ts'
import { createGate, steady } from './gate.ts'
import { failOnLeaks } from './leaks.ts'
import { startProcess } from './processes.ts'
import { json, rawReply, reply } from './reply.ts'
import { jsonEvents, streamedText } from './sse-events.ts'
import { startUpstream } from './upstream.ts'

failOnLeaks()

describe('segments', () => {
  test('every piece reaches the reader in a read of its own, at each cut of a character', async () => {
    const event = Buffer.from(dataEvent(chatChunk({ content: '北🙂' })))
    const cuts = Array.from({ length: event.length - 1 }, (_, index) => index + 1)
    await using u = await startUpstream((request) => {
      const cut = Number(request.path.slice(1))
      return sseHead().cut(event.subarray(0, cut), event.subarray(cut))
    })
    for (const cut of cuts) {
      const answer = await ask(`${u.url}/${cut}`)
      expect(answer.parts.map((part) => part.bytes.length)).toEqual([cut, event.length - cut])
      expect(streamedText(answer.body)).toBe('北🙂')
    }
  })

  test('pieces stay apart for a reader in another process too', async () => {
    await using u = await startUpstream(reply().send('ab', 'cd', 'ef', 'gh'), { pacing: 'proved' })
    const read = `let reads = 0
      const socket = require('node:net').connect(${u.port}, '127.0.0.1', () => socket.write('GET / HTTP/1.0\\r\\n\\r\\n'))
      socket.on('data', (bytes) => { reads++; if (bytes.includes('0\\r\\n\\r\\n')) { console.log('reads', reads); socket.end() } })`
    await using reader = await startProcess({ args: ['-e', read], ready: /reads (\d+)/ })
    expect(reader.readyMatch[1]).toBe('6')
  })

  test('each sent piece is one chunked frame', async () => {
    await using u = await startUpstream(reply().send('ab', 'cd').trailer({ 'X-Sum': '4' }))
    const answer = await ask(u.url)
    expect(answer.chunks.map(String)).toEqual(['ab', 'cd'])
    expect(answer.trailers).toEqual(['X-Sum: 4'])
    expect(answer.ended).toBe('complete')
  })

  test('raw bytes go out exactly as written, head and all', async () => {
    await using u = await startUpstream(
      rawReply('HTTP/1.1 200 Fine\r\nX-A:1\r\nx-a:  2\r\n', 'content-LENGTH: 2\r\n\r\nok'),
    )
    const answer = await ask(u.url)
    expect(answer.lines).toEqual(['X-A:1', 'x-a:  2', 'content-LENGTH: 2'])
    expect([answer.reason, answer.text]).toEqual(['Fine', 'ok'])
  })
})

describe('faults', () => {
  test('a reset is seen as a reset, a FIN in a frame as a cut', async () => {
    await using u = await startUpstream([
      sseHead().send('data: 1\n\n').reset(),
      sseHead().torn('data: 2').fin(),
      rawReply().reset(),
    ])
    const reset = await ask(u.url)
    expect([reset.ended, reset.text]).toEqual(['reset', 'data: 1\n\n'])
    const cut = await ask(u.url)
    expect([cut.ended, cut.text]).toEqual(['cut', 'data: 2'])
    await expect(ask(u.url)).rejects.toThrow('ended (reset) before a response')
  })

  test('a stall holds until it is released, and a gate holds its own answer only', async () => {
    const gate = createGate()
    await using u = await startUpstream([sseHead().send('a').stall().send('b'), sseHead().stall(gate).send('c')])
    await using first = await postLive(u.url, {})
    await using second = await postLive(u.url, {})
    await u.requests[0]!.stalled()
    await first.response.shows('a')
    u.release()
    expect((await first.response.done()).how).toBe('complete')
    expect(second.response.bytesReceived).toBe(0)
    gate.open()
    await second.response.done()
    expect(second.response.text).toBe('c')
  })

  test('a client that vanishes or leaves is seen with how it went', async () => {
    await using u = await startUpstream(sseHead().send('a').stall())
    await using vanished = await begin(u.url)
    vanished.client.vanish()
    expect((await u.closed(0)).how).toBe('reset')
    expect(await u.requests[0]!.played()).toBe('broken')
    await using left = await begin(u.url)
    left.client.end()
    expect((await u.closed(1)).how).toBe('fin')
    await u.deserted()
  })
})

describe('codings', () => {
  test('a gzip stream can be decoded event by event while it is open', async () => {
    await using u = await startUpstream(
      sseHead().compress('gzip').send('data: 1\n\n', 'data: 2\n\n').stall().send(DONE),
    )
    await using asking = await begin(u.url)
    expect(asking.response.headers['content-encoding']).toBe('gzip')
    const gunzip = createGunzip()
    let text = ''
    gunzip.on('data', (bytes: Buffer) => {
      text += bytes
    })
    const wrote = async (index: number) =>
      gunzip.write((await asking.response.part(index)).bytes) && new Promise((done) => gunzip.flush(() => done(0)))
    await wrote(0)
    expect(text).toBe('data: 1\n\n')
    await wrote(1)
    expect(text).toBe('data: 1\n\ndata: 2\n\n')
    gunzip.destroy()
  })

  test.each([
    ['br', brotliDecompressSync],
    ['zstd', zstdDecompressSync],
  ] as const)('a %s body decodes to what was sent', async (coding, decode) => {
    await using u = await startUpstream(
      sse([chatChunk({ content: 'hi' })])
        .compress(coding)
        .length(),
    )
    const answer = await ask(u.url)
    expect(answer.headers['content-length']).toBe(String(answer.body.length))
    expect(streamedText(decode(answer.body))).toBe('hi')
  })
})

describe('connections', () => {
  test('a connection is kept alive with the hint, counted, and closed on command', async () => {
    await using u = await startUpstream(json({ ok: true }), { keepAliveHint: 5 })
    await using c = await connect(u.url)
    for (let turn = 0; turn < 2; turn++) {
      await c.request({ path: '/a/%2e%2e//b?x=%zz' })
      const response = await c.response()
      expect(response.headers['keep-alive']).toBe('timeout=5')
      await response.done()
    }
    expect(u.requests.map(({ path, connection }) => [path, connection])).toEqual([
      ['/a/%2e%2e//b?x=%zz', 0],
      ['/a/%2e%2e//b?x=%zz', 0],
    ])
    await closeWhenIdle(u)
    expect((await c.closed()).how).toBe('fin')
  })

  test('an idle connection is closed after its time', async () => {
    await using u = await startUpstream(json({}), { keepAliveMs: 30 })
    await using c = await connect(u.url)
    await c.request({})
    const done = await (await c.response()).done()
    const closed = await c.closed()
    expect(closed.how).toBe('fin')
    expect(closed.at - done.at).toBeGreaterThan(20)
  })

  test('pipelined requests are answered in order, and a chunked request body is read', async () => {
    await using u = await startUpstream((request) => json(request.body.toString()))
    await using c = await connect(u.url)
    await c.write(
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\nGET /2 HTTP/1.1\r\n\r\n',
    )
    const first = await c.response()
    const second = await c.response()
    expect(first.json()).toBe('hello')
    await second.done()
    expect(u.requests.map(({ method, path }) => `${method} ${path}`)).toEqual(['POST /', 'GET /2'])
  })

  test('an upstream that does not read takes no request, and a body to it is never wholly out', async () => {
    await using deaf = await startUpstream(json({}), { reading: false })
    await using c = await connect(deaf.url)
    const written = c.write('GET / HTTP/1.1\r\n\r\n', Buffer.alloc(64 << 20))
    await using hearing = await startUpstream(json({}))
    await ask(hearing.url)
    expect([deaf.accepted, deaf.requests.length, hearing.requests.length]).toEqual([1, 0, 1])
    c.vanish()
    expect(await written).toBe(false)
  })

  test('a paused client is felt by the upstream, and gets everything once it goes on', async () => {
    const mega = Buffer.alloc(1 << 20)
    await using u = await startUpstream(reply().pour(() => Array.from({ length: 64 }, () => mega)))
    await using slow = await begin(u.url)
    slow.client.pause()
    const seen = u.requests[0]!
    expect(await steady(() => seen.sentBytes, 'what was sent')).toBeLessThan(32 << 20)
    slow.client.resume()
    expect((await slow.response.done()).how).toBe('complete')
    expect(slow.response.bytesReceived).toBe(64 << 20)
  })
})

describe('chat', () => {
  test('an answer is streamed or whole as the request asks', async () => {
    await using u = await startUpstream(
      byPath({ '/v1/chat/completions': chat('hello big world'), '*': fault(404, 'no') }),
    )
    const whole = await post(`${u.url}/v1/chat/completions`, { model: 'm' })
    expect(whole.json().choices[0].message.content).toBe('hello big world')
    const live = await post(`${u.url}/v1/chat/completions`, { stream: true, stream_options: { include_usage: true } })
    expect(streamedText(live.body)).toBe('hello big world')
    expect(jsonEvents(live.body).at(-1).usage.total_tokens).toBe(10)
    expect(live.events.at(-1)!.data).toBe('[DONE]')
    expect((await ask(`${u.url}/else`)).status).toBe(404)
  })

  test('a list of replies ends in a fault, so that a call too many is seen', async () => {
    await using u = await startUpstream([streamed(['a'])])
    expect((await ask(u.url)).status).toBe(200)
    expect((await ask(u.url)).status).toBe(500)
  })
})

async function closeWhenIdle(u: { closeIdle(): number }) {
  await expect.poll(() => u.closeIdle()).toBe(1)
}
