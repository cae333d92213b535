import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { type Answer, ask } from '../support/ask.ts'
import { completion } from '../support/chat-replies.ts'
import { connect } from '../support/client.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { json } from '../support/reply.ts'
import { heldBytes, startRig } from './rig.ts'
import { cached, spliced } from './stacks.ts'

failOnLeaks()

const MB = 1_000_000
const image = (bytes: number) =>
  JSON.stringify({
    model: 'rig-model',
    messages: [
      {
        role: 'user',
        content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(bytes)}` } }],
      },
    ],
  })

describe.each([spliced, cached])('F07 by default, behind $name', (stack) => {
  test.each([0.9, 1.1, 10, 30])(
    'an image of %f MB reaches the runner whole',
    async (size) => {
      await using rig = await startRig(completion('seen'), { stack })
      const body = image(size * MB)
      for (const chunked of [false, true]) {
        const answer = await ask(rig.chat, { body, chunked, headers: { 'X-Size': String(size) } }, 15_000)
        expect(answer.status, answer.text).toBe(200)
      }
      expect(rig.u.requests[0]?.body.equals(Buffer.from(body))).toBe(true)
    },
    40_000,
  )

  test.each([49, 51])(
    'one of %i MB is a 413 in JSON, and the connection lives',
    async (size) => {
      await using rig = await startRig(completion('never'), { stack })
      for (const chunked of [false, true]) {
        await using client = await connect(rig.chat)
        await client.request({ body: image(size * MB), chunked })
        const answer = await client.response({ waitMs: 15_000 })
        await answer.done()
        expectTooLarge(answer as Answer)
        await client.request({ path: '/v1/files', method: 'GET' })
        await (await client.response()).done()
      }
      expect(rig.u.requests.map(({ path }) => path)).toEqual(['/v1/files', '/v1/files'])
    },
    40_000,
  )
})

test('F07 the limit is what the configuration says', async () => {
  await using rig = await startRig(completion('seen'), { config: { listen: { bodyLimitBytes: 50 * MB } } })
  expect((await ask(rig.chat, { body: image(49 * MB) }, 15_000)).status).toBe(200)
  expectTooLarge(await ask(rig.chat, { body: image(51 * MB) }, 15_000))
  expect(rig.u.requests).toHaveLength(1)
}, 40_000)

const small = { config: { listen: { bodyLimitBytes: 2048 } } }

test.each(['/v1/chat/completions', '/v1/completions', '/v1/embeddings', '/v1/messages', '/v1/feedback'])(
  'F07 %s says 413 in its own dialect',
  async (path) => {
    await using rig = await startRig(completion('never'), small)
    const answer = await ask(rig.gateway.url, { path, method: 'POST', body: image(4096) })
    expect(answer.status).toBe(413)
    const { error } = answer.json()
    expect(error.message).toContain('too large')
    expect(path === '/v1/messages' ? error.type : error.code).toBe(
      path === '/v1/messages' ? 'request_too_large' : 'body_too_large',
    )
    expect(answer.headers['x-layer-status']).toContain('by=none')
  },
)

test('F07 a body that is passed on is bounded as well, said beforehand or found on the way', async () => {
  await using rig = await startRig(json({ ok: true }), small)
  for (const chunked of [false, true]) {
    const answer = await ask(rig.gateway.url, { path: '/v1/files', body: Buffer.alloc(4096), chunked })
    expectTooLarge(answer)
  }
  await rig.u.deserted()
  expect(rig.u.requests.filter(({ complete }) => complete)).toHaveLength(0)
})

test('F07 a body that never ends is cut off some way beyond the limit', async () => {
  await using rig = await startRig(completion('never'), small)
  for (const path of ['/v1/chat/completions', '/v1/files']) {
    await using client = await connect(rig.gateway.url)
    await client.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`)
    const piece = Buffer.concat([Buffer.from('400\r\n'), Buffer.alloc(1024), Buffer.from('\r\n')])
    let sent = 0
    while (await client.write(piece)) {
      sent += piece.length
      expect(sent).toBeLessThan(1_000_000)
    }
    await client.closed()
  }
})

test('F07 whoever asks before sending too much is told before', async () => {
  await using rig = await startRig(completion('seen'), small)
  await using client = await connect(rig.chat)
  await client.write(
    'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 4096\r\nExpect: 100-continue\r\n\r\n',
  )
  const refused = await client.response()
  expect([refused.status, refused.informational.length]).toEqual([413, 0])
  await using other = await connect(rig.chat)
  const body = image(100)
  await other.write(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
  )
  await other.write(body)
  const granted = await other.response()
  expect([granted.status, granted.informational.map(({ start }) => start)]).toEqual([200, ['HTTP/1.1 100 Continue']])
  expect(rig.u.requests[0]?.headers).not.toHaveProperty('expect')
})

test('F07 an expectation that nobody knows is a 417', async () => {
  await using rig = await startRig(completion('never'))
  const answer = await ask(rig.chat, { body: image(10), headers: { Expect: 'the-unexpected' } })
  expect([answer.status, answer.json().error.code]).toEqual([417, 'invalid_request'])
  expect(answer.headers['x-layer-status']).toContain('by=none')
})

test('F07 a compressed body is refused before anything is unpacked', async () => {
  await using rig = await startRig(completion('never'))
  const bomb = gzipSync(Buffer.alloc(100 * MB, 0x20))
  const before = heldBytes()
  const answer = await ask(rig.chat, { body: bomb, headers: { 'Content-Encoding': 'gzip' } })
  expect([answer.status, answer.json().error.code]).toEqual([415, 'unsupported_media_type'])
  expect(answer.headers['x-layer-status']).toContain('by=none')
  expect(heldBytes() - before).toBeLessThan(10 * MB)
})

function expectTooLarge(answer: Answer): void {
  expect(answer.status).toBe(413)
  expect(answer.headers['content-type']).toBe('application/json')
  expect(answer.json().error).toMatchObject({ code: 'body_too_large', type: 'invalid_request_error' })
  expect(answer.headers['x-layer-status']).toContain('by=none')
}
