import { describe, expect, test } from 'vitest'
import { begin, post, postLive } from '../support/ask.ts'
import { chatChunk, sseHead } from '../support/chat-replies.ts'
import { createGate } from '../support/gate.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { streamedText } from '../support/sse-events.ts'
import { heldBytes, messageRequest, startRig, streamRequest } from './rig.ts'
import { stacks } from './stacks.ts'

failOnLeaks()

const MiB = 1024 * 1024
/** Every way to end the lines of an event. */
const dialects = {
  CRLF: (data: string) => `data: ${data}\r\n\r\n`,
  CR: (data: string) => `data: ${data}\r\r`,
  'CRLF behind the field, LF as the blank line': (data: string) => `data: ${data}\r\n\n`,
  'no space behind the colon': (data: string) => `data:${data}\n\n`,
}
const words = ['one ', 'two ', 'three ']
const chunks = words.map((content) => JSON.stringify(chatChunk({ content })))
const end = [JSON.stringify(chatChunk({ finish: 'stop' })), '[DONE]']

describe.each(stacks)('A03 behind $name', (stack) => {
  test.each(Object.entries(dialects))('%s: events are delivered as they arrive', async (_, event) => {
    const gates = words.map(() => createGate())
    const paced = chunks.reduce((so, chunk, index) => so.send(event(chunk)).stall(gates[index]), sseHead())
    await using rig = await startRig(paced.send(...end.map(event)), { stack })
    await using asking = await postLive(rig.chat, streamRequest())
    for (const [index, word] of words.entries()) {
      await asking.response.shows(word.trim())
      expect(streamedText(asking.response.body)).toBe(words.slice(0, index + 1).join(''))
      gates[index]?.open()
    }
    expect((await asking.response.done()).how).toBe('complete')
    expect(asking.response.events.map(({ data }) => data)).toEqual([...chunks, ...end])
  })

  test.each(Object.entries(dialects))(
    '%s: a line end cut in two makes no event and loses none',
    async (_, event) => {
      const bytes = Array.from(Buffer.from([...chunks, ...end].map(event).join('')), (byte) => Buffer.of(byte))
      await using rig = await startRig(sseHead().cut(...bytes), { stack })
      const answer = await post(rig.chat, streamRequest())
      expect(answer.events.map(({ data }) => data)).toEqual([...chunks, ...end])
    },
    20_000,
  )

  // Whichever layer looks into a stream, its lines are read in one place.
  test.runIf([stacks[0], stacks.at(-1)].includes(stack)).each(Object.entries(dialects))(
    '%s: 40 MB of it leave nothing behind',
    // What sockets of this process hold at that moment differs: it is looked at again before it is believed.
    { retry: 2, timeout: 30_000 },
    async (_, event) => {
      const one = Buffer.from(event(JSON.stringify(chatChunk({ content: 'x'.repeat(1000) }))))
      const count = Math.ceil((40 * MiB) / one.length)
      const many = function* () {
        const block = Buffer.concat(Array.from({ length: 50 }, () => one))
        for (let sent = 0; sent < count; sent += 50) yield block
      }
      await using rig = await startRig(
        sseHead()
          .pour(many)
          .send(...end.map(event)),
        { stack },
      )
      const before = heldBytes()
      await using asking = await begin(rig.chat, { body: streamRequest() })
      const held: number[] = []
      for (const part of [100, 300, 500]) {
        await asking.response.part(part)
        held.push(heldBytes() - before - asking.response.bytesReceived)
      }
      await asking.response.done(15_000)
      // The cache keeps at most 4 MiB of an answer, and in doing so a little more.
      expect(Math.max(...held)).toBeLessThan(32 * MiB)
      expect(asking.response.bytesReceived).toBeGreaterThan(38 * MiB)
    },
  )
})

test.each(Object.entries(dialects))('A03 %s: a message stream says every word', async (_, event) => {
  await using rig = await startRig(sseHead().send(...[...chunks, ...end].map(event)))
  const answer = await post(rig.messages, messageRequest({ stream: true }))
  expect(answer.events.map(({ data }) => JSON.parse(data).delta?.text ?? '').join('')).toBe(words.join(''))
})
