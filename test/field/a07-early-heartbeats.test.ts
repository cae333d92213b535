import { describe, expect, test } from 'vitest'
import { post, postLive } from '../support/ask.ts'
import { chat, chatChunk, DONE, dataEvent, sseHead } from '../support/chat-replies.ts'
import { createGate } from '../support/gate.ts'
import { startTestGateway } from '../support/gateway.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { streamedText } from '../support/sse-events.ts'
import { startUpstream } from '../support/upstream.ts'
import { messageRequest, routesOf, startRig, streamRequest } from './rig.ts'
import { stacks } from './stacks.ts'

failOnLeaks()

const content = [
  dataEvent(chatChunk({ role: 'assistant', content: '' })),
  dataEvent(chatChunk({ content: 'hi' })),
  dataEvent(chatChunk({ finish: 'stop' })),
  DONE,
]
const beats: readonly (readonly [string, readonly string[]])[] = [
  ['a comment behind a newline', ['\n: wait\n\n']],
  ['a newline, then a comment', ['\n', ': wait\n\n']],
  ['a bare comment', [':\n']],
  ['a comment in CRLF', ['\r\n: wait\r\n\r\n']],
  ['a comment behind the role', [content[0]!, ': wait\n\n']],
]

describe.each(stacks)('A07 behind $name', (stack) => {
  test.each(beats)('%s before the first token reaches the caller at once, and so do the next', async (_, parts) => {
    const gates = [createGate(), createGate(), createGate()]
    const waiting = gates.reduce((so, gate) => so.send(...parts).stall(gate), sseHead())
    await using rig = await startRig(waiting.send(...content), { stack })
    await using asking = await postLive(rig.chat, streamRequest())
    for (const [index, gate] of gates.entries()) {
      const stalled = performance.now()
      const { at } = await asking.response.part(index)
      expect(at - stalled).toBeLessThan(1_000)
      expect(asking.response.text).toContain(':')
      gate.open()
    }
    expect((await asking.response.done()).how).toBe('complete')
    expect(asking.response.status).toBe(200)
    expect(asking.response.headers['content-type']).toContain('text/event-stream')
    expect(streamedText(asking.response.body)).toBe('hi')
  })

  test('a preamble is held back for a second, not for as long as preambles come', async () => {
    const gate = createGate()
    const empty = dataEvent(chatChunk({ content: '' }))
    const trickle = Array.from({ length: 12 }).reduce<ReturnType<typeof sseHead>>(
      (so) => so.send(empty).delay(150),
      sseHead(),
    )
    await using rig = await startRig(trickle.stall(gate).send(...content), { stack })
    await using asking = await postLive(rig.chat, streamRequest())
    // Its head is there while the runner still only sends preambles.
    expect(gate.isOpen).toBe(false)
    gate.open()
    await asking.response.done()
    expect(streamedText(asking.response.body)).toBe('hi')
  })
})

test.each(beats)('A07 %s before the first token reaches a caller of a message stream', async (_, parts) => {
  const gate = createGate()
  await using rig = await startRig(
    sseHead()
      .send(...parts)
      .stall(gate)
      .send(...content),
  )
  await using asking = await postLive(rig.messages, messageRequest({ stream: true }))
  await asking.response.shows(':')
  gate.open()
  await asking.response.done()
  expect(asking.response.text).toContain('message_stop')
})

test('A07 with two runners, the one that beats is waited for', async () => {
  const gate = createGate()
  await using first = await startUpstream(
    sseHead()
      .send('\n: wait\n\n')
      .stall(gate)
      .send(...content),
  )
  await using second = await startUpstream(chat('never'))
  await using gateway = await startTestGateway({ runners: [first.url, second.url] })
  await using asking = await postLive(routesOf(gateway.url).chat, streamRequest())
  await asking.response.shows(': wait')
  gate.open()
  await asking.response.done()
  expect(streamedText(asking.response.body)).toBe('hi')
  expect(second.requests).toHaveLength(0)
})

test('A07 our own heartbeats begin with the answer, never before its head', async () => {
  const event = dataEvent(chatChunk({ content: 'hi' }))
  // Longer than a preamble is held back, with many heartbeats due.
  const late = sseHead()
    .send(event.slice(0, 30))
    .delay(1_200)
    .send(event.slice(30), ...content.slice(2))
  await using rig = await startRig(late, { config: { listen: { heartbeatMs: 50 } } })
  const answer = await post(rig.chat, streamRequest())
  expect(answer.status).toBe(200)
  expect(answer.headers['content-type']).toContain('text/event-stream')
  expect(streamedText(answer.body)).toBe('hi')
})
