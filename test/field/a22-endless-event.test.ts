import { describe, expect, test } from 'vitest'
import { createSseReader } from '../../plugins/sse.ts'
import { ask, post } from '../support/ask.ts'
import { chatChunk, DONE, dataEvent, sseHead } from '../support/chat-replies.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { streamedText } from '../support/sse-events.ts'
import { heldBytes, messageRequest, startRig, streamRequest, threadMs, watchTurns } from './rig.ts'
import { stacks } from './stacks.ts'

failOnLeaks()

const MiB = 1024 * 1024
const first = dataEvent(chatChunk({ content: 'first' }))
const openings = { 'a data line': 'data: {"x":"', 'a comment': ': ', 'a field nobody knows': 'dx' }

function* endless(opening: string): Generator<Buffer> {
  yield Buffer.from(opening)
  const filling = Buffer.alloc(64 * 1024, 0x78)
  for (let sent = 0; sent < 256 * MiB; sent += filling.length) yield filling
}

describe.each(stacks)('A22 behind $name', (stack) => {
  const runner = { maxEventBytes: MiB, maxAttempts: 1 }

  test.each(Object.entries(openings))(
    '%s without an end is cut, in band once the stream has begun',
    async (_, opening) => {
      await using rig = await startRig(
        sseHead()
          .send(first)
          .pour(() => endless(opening)),
        { stack, runner },
      )
      const before = heldBytes()
      const answer = await post(rig.chat, streamRequest())
      const { how } = await rig.u.closed(0)
      expect(how).toBeDefined()
      expect(JSON.parse(answer.events.at(-1)?.data ?? '').error.code).toBe('runner_protocol')
      expect(streamedText(answer.body.subarray(0, first.length))).toBe('first')
      expect(answer.events).toHaveLength(2)
      expect(rig.u.requests[0]?.sentBytes).toBeLessThan(32 * MiB)
      expect(heldBytes() - before).toBeLessThan(16 * MiB)
    },
  )

  test('a first event without an end is answered 502', async () => {
    await using rig = await startRig(
      sseHead().pour(() => endless(openings['a data line'])),
      { stack, runner },
    )
    const answer = await post(rig.chat, streamRequest())
    expect(answer.status).toBe(502)
    expect(answer.json().error.code).toBe('runner_protocol')
    await rig.u.closed(0)
  })

  test('an event of 10 MB in small reads passes whole, in linear time', async () => {
    const big = Buffer.from(dataEvent(chatChunk({ content: 'QUJD'.repeat((10 * MiB) / 4) })))
    const pieces = function* () {
      for (let at = 0; at < big.length; at += 16 * 1024) yield big.subarray(at, at + 16 * 1024)
    }
    const end = dataEvent(chatChunk({ finish: 'stop' })) + DONE
    await using rig = await startRig(sseHead().send(first).pour(pieces).send(end), {
      stack,
      runner: { maxEventBytes: 16 * MiB },
    })
    const answer = await ask(rig.chat, { body: streamRequest() }, 15_000)
    expect(answer.body.length).toBe(first.length + big.length + end.length)
    expect(answer.body.subarray(first.length, first.length + big.length).equals(big)).toBe(true)
  }, 30_000)

  // A busy machine can only make a turn longer: it is looked at again before it is believed.
  test('100,000 tiny events leave the event loop to others', { retry: 2, timeout: 30_000 }, async () => {
    const tiny = Buffer.from(dataEvent({ choices: [] }).repeat(100_000))
    const end = dataEvent(chatChunk({ finish: 'stop' })) + DONE
    await using rig = await startRig(
      sseHead()
        .send(first)
        .pour(() => [tiny])
        .send(end),
      { stack },
    )
    await ask(rig.chat, { body: streamRequest() }, 15_000)
    const turns = watchTurns()
    const answer = await ask(rig.chat, { body: streamRequest() }, 15_000)
    expect(turns.stop()).toBeLessThan(50)
    expect(answer.body.length).toBe(first.length + tiny.length + end.length)
  })
})

test('A22 an endless event is an error event in the dialect of Anthropic', async () => {
  await using rig = await startRig(
    sseHead()
      .send(first)
      .pour(() => endless(openings['a data line'])),
    { runner: { maxEventBytes: MiB } },
  )
  const answer = await post(rig.messages, messageRequest({ stream: true }))
  expect(answer.events.at(-1)?.type).toBe('error')
  await rig.u.closed(0)
})

test('A22 reading a 10 MB event in 16 KB reads costs well under 100 ms', () => {
  const big = Buffer.from(`data: ${'QUJD'.repeat((10 * MiB) / 4)}\n\n`)
  const cost = () => {
    const start = threadMs()
    const reader = createSseReader(16 * MiB)
    let events = 0
    for (let at = 0; at < big.length; at += 16 * 1024)
      events += reader.push(big.subarray(at, at + 16 * 1024)).events.length
    expect(events).toBe(1)
    return threadMs() - start
  }
  expect(Math.min(cost(), cost(), cost())).toBeLessThan(100)
})
