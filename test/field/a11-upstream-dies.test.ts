import { describe, expect, test } from 'vitest'
import { type Answer, ask, post } from '../support/ask.ts'
import { chatChunk, completionBody, DONE, dataEvent, sseHead } from '../support/chat-replies.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { type Reply, reply } from '../support/reply.ts'
import { readSse, streamedText } from '../support/sse-events.ts'
import { chatRequest, counted, messageRequest, type Rig, startRig, streamRequest } from './rig.ts'
import { cached, stacks } from './stacks.ts'

failOnLeaks()

const words = ['one ', 'two ', 'three ']
const said = sseHead().send(...words.map((content) => dataEvent(chatChunk({ content }))))
const next = dataEvent(chatChunk({ content: 'four' }))
const closing = said.untilClose()
/** Every way to die in the middle of an answer, and what the caller is told. */
const deaths: readonly (readonly [how: string, dying: Reply, code: string])[] = [
  ['a reset', said.reset(), 'runner_error'],
  ['a FIN inside a chunked frame', said.torn(next.slice(0, 20)).fin(), 'runner_error'],
  ['a FIN between two chunked frames', said.fin(), 'runner_error'],
  ['an orderly end without a finish reason', said, 'runner_error'],
  ['a FIN that frames the body, without a finish reason', closing.fin(), 'runner_error'],
  ['a FIN that frames the body, inside an event', closing.send(next.slice(0, 20)).fin(), 'runner_error'],
  ['silence beyond the idle time-out', said.stall(), 'runner_timeout'],
]
const settings = { runner: { idleTimeoutMs: 600, maxAttempts: 1 } }

describe.each(stacks)('A11 behind $name', (stack) => {
  test.each(deaths)('%s is said in band, and the call counts as failed', async (_, dying, code) => {
    await using rig = await startRig(dying, { stack, ...settings })
    const answer = await post(rig.chat, streamRequest())
    expect(answer.status).toBe(200)
    expectHonestEnd(answer, code)
    await expectFailure(rig, 'chat', code)
  })
})

describe('A11 in the dialect of Anthropic', () => {
  test.each(deaths)('%s is an error event, and no message_stop', async (_, dying, code) => {
    await using rig = await startRig(dying, settings)
    const answer = await post(rig.messages, messageRequest({ stream: true }))
    const events = answer.events.map(({ type, data }) => ({ type, ...JSON.parse(data) }))
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { type: expect.any(String) } })
    expect(events.map(({ type }) => type)).not.toContain('message_stop')
    expect(events.map(({ delta }) => delta?.text ?? '').join('')).toBe(words.join(''))
    expect(answer.ended).toBe('complete')
    await expectFailure(rig, 'messages', code)
  })
})

test('A11 an answer that talks about [DONE] is not taken for a finished one', async () => {
  const talk = dataEvent(chatChunk({ content: 'a stream ends with\ndata: [DONE]\n\nand "finish_reason": "stop"' }))
  await using rig = await startRig(sseHead().send(talk))
  const answer = await post(rig.chat, streamRequest())
  expect(lastEvent(answer).error.code).toBe('runner_error')
})

test.each(stacks)(
  'A11 with two choices under way, one that finished does not speak for both behind $name',
  async (stack) => {
    const both = [chatChunk({ content: 'a' }), chatChunk({ content: 'b', choice: 1 }), chatChunk({ finish: 'stop' })]
    await using rig = await startRig(sseHead().send(...both.map(dataEvent)), { stack })
    const answer = await post(rig.chat, streamRequest({ n: 2 }))
    expect(lastEvent(answer).error.code).toBe('runner_error')
  },
)

test.each(stacks)('A11 an answer that finished needs no end mark behind $name', async (stack) => {
  const whole = [chatChunk({ content: 'all' }), chatChunk({ finish: 'stop' })]
  await using rig = await startRig(
    sseHead()
      .send(...whole.map(dataEvent))
      .untilClose()
      .fin(),
    { stack },
  )
  const answer = await post(rig.chat, streamRequest())
  expect(streamedText(answer.body)).toBe('all')
  expect(answer.text).not.toContain('error')
})

test.each(stacks)('A11 an end mark without its last line end is enough behind $name', async (stack) => {
  const start = dataEvent(chatChunk({ content: 'all' }))
  await using rig = await startRig(sseHead().send(start, DONE.trimEnd()), { stack })
  const answer = await post(rig.chat, streamRequest())
  expect(answer.text).not.toContain('error')
  expect(answer.text.trimEnd()).toMatch(/data: \[DONE\]$/)
})

const body = JSON.stringify(completionBody('whole'))
const torn = reply(200, { 'Content-Type': 'application/json', 'Content-Length': String(body.length) }).length()

test.each([
  ['a reset', torn.send(body.slice(0, 40)).reset()],
  ['a FIN', torn.send(body.slice(0, 40)).fin()],
])('A11 %s in the middle of a document is answered 502, not 200', async (_, dying) => {
  await using rig = await startRig(dying, settings)
  const answer = await post(rig.chat, chatRequest())
  expect(answer.status).toBe(502)
  expect(answer.json().error.code).toBe('runner_error')
})

test('A11 half a stream is not kept', async () => {
  await using rig = await startRig([said.reset(), said.send(next, dataEvent(chatChunk({ finish: 'stop' })), DONE)], {
    stack: cached,
  })
  const request = streamRequest()
  await post(rig.chat, request)
  const again = await ask(rig.chat, { body: request })
  expect(streamedText(again.body)).toBe(`${words.join('')}four`)
  expect(rig.u.requests).toHaveLength(2)
})

function lastEvent(answer: Answer) {
  return JSON.parse(answer.events.at(-1)?.data ?? 'null')
}

function expectHonestEnd(answer: Answer, code: string): void {
  expect(lastEvent(answer)).toEqual({ error: expect.objectContaining({ code, type: 'server_error' }) })
  const { events, unfinished } = readSse(answer.body)
  expect(unfinished).toBe(false)
  expect(events).toHaveLength(words.length + 1)
  expect(
    streamedText(
      Buffer.from(
        events
          .slice(0, -1)
          .map(({ data }) => dataEvent(data))
          .join(''),
      ),
    ),
  ).toBe(words.join(''))
  expect(answer.text).not.toContain('[DONE]')
  expect(answer.text).not.toMatch(/finish_reason":\s*"/)
  expect(answer.ended).toBe('complete')
}

async function expectFailure({ gateway }: Rig, route: string, code: string): Promise<void> {
  const status = code === 'runner_timeout' ? 504 : 502
  expect(await counted(gateway, 'requests_total', new RegExp(`route="${route}".*code="${status}"`))).toBe(1)
  expect(await counted(gateway, 'requests_total', /code="200"/)).toBe(0)
  expect(gateway.lines).toContainEqual(expect.objectContaining({ route, error: code, status }))
}
