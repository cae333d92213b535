import { describe, expect, test } from 'vitest'
import { post } from '../support/ask.ts'
import { chatChunk, DONE, dataEvent, sseHead } from '../support/chat-replies.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { streamedText } from '../support/sse-events.ts'
import { messageRequest, startRig, streamRequest } from './rig.ts'
import { cached, spliced, stacks } from './stacks.ts'

failOnLeaks()

const text = '去北🙂é'
const event = Buffer.from(dataEvent(chatChunk({ role: 'assistant', content: text })))
const tail = dataEvent(chatChunk({ finish: 'stop' })) + DONE
// From the first byte of the first character to behind the last.
const first = event.indexOf(Buffer.from(text))
const offsets = Array.from({ length: Buffer.byteLength(text) + 1 }, (_, index) => first + index)
const cutAt = (offset: number) => sseHead().cut(event.subarray(0, offset), event.subarray(offset)).send(tail)

describe.each(stacks)('A01 behind $name', (stack) => {
  test('a character that straddles two reads reaches the client byte for byte, at every cut', async () => {
    await using rig = await startRig(cutAt(0), { stack })
    for (const offset of offsets) {
      rig.u.play(cutAt(offset))
      const answer = await post(rig.chat, streamRequest())
      expect(streamedText(answer.body), `cut at ${offset}`).toBe(text)
      expect(answer.text).not.toContain('\ufffd')
      expect(answer.text).toContain(`data: ${JSON.stringify(chatChunk({ role: 'assistant', content: text }))}\n\n`)
    }
  })
})

test('A01 a stream cut after every single byte is passed on untouched', async () => {
  const whole = Buffer.concat([event, Buffer.from(tail)])
  const bytes = Array.from(whole, (byte) => Buffer.of(byte))
  await using rig = await startRig(sseHead().cut(...bytes), { stack: spliced })
  const answer = await post(rig.chat, streamRequest())
  expect(answer.body.equals(whole)).toBe(true)
})

test('A01 what the cache kept of a cut character is whole, as a stream and as one document', async () => {
  await using rig = await startRig(cutAt(0), { stack: cached })
  for (const offset of offsets) {
    rig.u.play(cutAt(offset))
    const request = streamRequest()
    await post(rig.chat, request)
    const again = await post(rig.chat, request)
    const whole = await post(rig.chat, { ...request, stream: false })
    expect(again.headers['cache-status'], `cut at ${offset}`).toContain('hit')
    expect(streamedText(again.body)).toBe(text)
    expect(whole.json().choices[0].message.content).toBe(text)
  }
  expect(rig.u.requests).toHaveLength(offsets.length)
})

test('A01 a character cut between two reads is whole in a message stream', async () => {
  await using rig = await startRig(cutAt(0))
  for (const offset of offsets) {
    rig.u.play(cutAt(offset))
    const answer = await post(rig.messages, messageRequest({ stream: true }))
    const said = answer.events.map(({ data }) => JSON.parse(data).delta?.text ?? '').join('')
    expect(said, `cut at ${offset}`).toBe(text)
  }
})
