import { describe, expect, test } from 'vitest'
import { post, postLive } from '../support/ask.ts'
import { chatChunk, DONE, dataEvent, sseHead } from '../support/chat-replies.ts'
import { createGate } from '../support/gate.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { readSse, streamedText } from '../support/sse-events.ts'
import { chatRequest, messageRequest, startRig, streamRequest } from './rig.ts'
import { stacks } from './stacks.ts'

failOnLeaks()

const chunk = JSON.stringify(chatChunk({ content: 'hi' }))
const [left, right] = [chunk.slice(0, chunk.indexOf('"choices"')), chunk.slice(chunk.indexOf('"choices"'))]
const end = dataEvent(chatChunk({ finish: 'stop' })) + DONE
const streams: readonly (readonly [string, readonly string[]])[] = [
  ['three heartbeats first', [': WORKING\n\n', ': WORKING\n\n', ': WORKING\n\n', dataEvent(chunk)]],
  ['bare colons', [':\n', dataEvent(chunk), ':\n', ':\n\n']],
  ['a comment between two data lines of one event', [`data: ${left}\n: WORKING\ndata: ${right}\n\n`]],
  ['the same in three reads', [`data: ${left}\n`, ': WORKING\n', `data: ${right}\n\n`]],
  ['a comment cut in two', [': WOR', 'KING\n', dataEvent(chunk)]],
  ['comments with CRLF', [': WORKING\r\n\r\n', ':\r\n', dataEvent(chunk)]],
  [
    'a comment that looks like data',
    [':data: {"choices":[{"index":0,"delta":{"content":"no"}}]}\n\n', dataEvent(chunk)],
  ],
  ['events that say nothing', ['data:\n\n', 'event: ping\ndata: {}\n\n', dataEvent(chunk), 'data: \n\n']],
]

describe.each(stacks)('A05 behind $name', (stack) => {
  test.each(streams)('%s: comments are never data, and what follows is whole', async (what, parts) => {
    await using rig = await startRig(sseHead().send(...parts, end), { stack })
    const answer = await post(rig.chat, streamRequest())
    const { events, unknown } = readSse(answer.body)
    const said = events.filter(({ data, type }) => data !== '' && type !== 'ping')
    expect(said.at(-1)?.data).toBe('[DONE]')
    expect(
      streamedText(
        said
          .slice(0, -1)
          .map(({ data }) => `data: ${data.replaceAll('\n', '\ndata: ')}\n\n`)
          .join(''),
      ),
    ).toBe('hi')
    expect(said).toHaveLength(3)
    expect(unknown).toEqual([])
    if (what !== 'events that say nothing') expect(events).toHaveLength(3)
  })

  test.each(streams)('%s: a caller who wants no stream gets the answer', async (_, parts) => {
    await using rig = await startRig(sseHead().send(...parts, end), { stack })
    const answer = await post(rig.chat, chatRequest())
    expect(answer.json().choices[0].message.content).toBe('hi')
  })

  test('a heartbeat between events reaches the caller at once', async () => {
    const gate = createGate()
    const beats = [': WORKING\n\n', ':\n']
    await using rig = await startRig(
      sseHead()
        .send(dataEvent(chunk), ...beats)
        .stall(gate)
        .send(end),
      { stack },
    )
    await using asking = await postLive(rig.chat, streamRequest())
    await asking.response.shows('hi')
    await asking.response.shows(':')
    const { comments, events } = readSse(asking.response.body)
    expect(comments.length).toBeGreaterThan(0)
    expect(events).toHaveLength(1)
    gate.open()
    await asking.response.done()
  })
})

test.each(streams)('A05 %s: a message stream says what was said', async (_, parts) => {
  await using rig = await startRig(sseHead().send(...parts, end))
  const answer = await post(rig.messages, messageRequest({ stream: true }))
  expect(answer.events.map(({ data }) => JSON.parse(data).delta?.text ?? '').join('')).toBe('hi')
  expect(answer.events.at(-1)?.type).toBe('message_stop')
})
