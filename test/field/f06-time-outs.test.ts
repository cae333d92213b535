import { describe, expect, test } from 'vitest'
import { post } from '../support/ask.ts'
import { chatChunk, completionBody, DONE, dataEvent, sseHead } from '../support/chat-replies.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { rawReply, reply } from '../support/reply.ts'
import { streamedText } from '../support/sse-events.ts'
import { chatRequest, messageRequest, startRig, streamRequest } from './rig.ts'
import { stacks } from './stacks.ts'

failOnLeaks()

const word = dataEvent(chatChunk({ content: 'hi' }))
const end = [dataEvent(chatChunk({ finish: 'stop' })), DONE]
const mute = rawReply().stall()
const document = reply(200, { 'Content-Type': 'application/json' })

describe.each(stacks)('F06 behind $name', (stack) => {
  test.each([
    ['says nothing', mute],
    ['says no more than its head', sseHead().stall()],
    ['says no more than white space', sseHead().send('\n').stall()],
  ])('a runner that %s is a 504 after firstByteTimeoutMs, named in the log', async (what, stalled) => {
    const white = what.endsWith('white space')
    const runner = { firstByteTimeoutMs: white ? 60_000 : 300, idleTimeoutMs: white ? 300 : 60_000 }
    await using rig = await startRig(stalled, { stack, runner })
    for (const request of [streamRequest(), chatRequest()]) {
      const start = performance.now()
      const answer = await post(rig.chat, request)
      expect([answer.status, answer.json().error.code]).toEqual([504, 'runner_timeout'])
      expect(performance.now() - start).toBeGreaterThan(290)
    }
    expect(rig.gateway.lines.filter(({ error, status }) => error === 'runner_timeout' && status === 504)).toHaveLength(
      2,
    )
    await rig.u.deserted()
  })

  test('a runner that falls silent is said in band after idleTimeoutMs, named in the log', async () => {
    const runner = { firstByteTimeoutMs: 60_000, idleTimeoutMs: 300 }
    await using rig = await startRig(sseHead().send(word).stall(), { stack, runner })
    const answer = await post(rig.chat, streamRequest())
    const [first, last] = answer.events
    expect(JSON.parse(first!.data).choices[0].delta.content).toBe('hi')
    expect(JSON.parse(last!.data).error).toMatchObject({
      code: 'runner_timeout',
      message: expect.stringContaining('silent'),
    })
    expect(rig.gateway.lines).toContainEqual(expect.objectContaining({ error: 'runner_timeout', status: 504 }))
    await rig.u.deserted()
  })

  test('a runner that falls silent in the middle of a document is a 504', async () => {
    await using rig = await startRig(document.send(JSON.stringify(completionBody('hi')).slice(0, 50)).stall(), {
      stack,
      runner: { idleTimeoutMs: 300 },
    })
    const answer = await post(rig.chat, chatRequest())
    expect([answer.status, answer.json().error.code]).toEqual([504, 'runner_timeout'])
  })

  test('a first byte may take longer than a pause may', async () => {
    await using rig = await startRig(
      sseHead()
        .delay(1_200)
        .send(word, ...end),
      { stack, runner: { idleTimeoutMs: 800 } },
    )
    expect(streamedText(withoutEnd((await post(rig.chat, streamRequest())).body))).toBe('hi')
  })

  test('a pause may take longer than a first byte may, and heartbeats count', async () => {
    const slow = sseHead()
      .send(word)
      .delay(1_600)
      .send(': wait\n\n')
      .delay(1_600)
      .send(...end)
    await using rig = await startRig(slow, { stack, runner: { firstByteTimeoutMs: 1_200, idleTimeoutMs: 2_800 } })
    expect(streamedText(withoutEnd((await post(rig.chat, streamRequest())).body))).toBe('hi')
  })
})

test('F06 a message stream is told in its own dialect', async () => {
  await using rig = await startRig(sseHead().send(word).stall(), { runner: { idleTimeoutMs: 300 } })
  const answer = await post(rig.messages, messageRequest({ stream: true }))
  expect(JSON.parse(answer.events.at(-1)!.data)).toMatchObject({ type: 'error', error: { type: 'api_error' } })
})

test('F06 a runner that cannot be reached in connectTimeoutMs is a 503', async () => {
  // An address of a network that is kept for documents (RFC 5737): nobody answers there, if it is routed at all.
  await using rig = await startRig(mute, { runner: { url: 'http://192.0.2.1:9', connectTimeoutMs: 200 } })
  const start = performance.now()
  const answer = await post(rig.chat, chatRequest())
  expect([answer.status, answer.json().error.code]).toEqual([503, 'runner_unreachable'])
  expect(performance.now() - start).toBeLessThan(3_500)
})

function withoutEnd(body: Buffer): Buffer {
  return body.subarray(0, body.indexOf(DONE))
}
