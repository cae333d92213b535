import { describe, expect, test } from 'vitest'
import { type Answer, post } from '../support/ask.ts'
import { chatChunk, completionBody, DONE, dataEvent } from '../support/chat-replies.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { reply } from '../support/reply.ts'
import { streamedText } from '../support/sse-events.ts'
import { chatRequest, messageRequest, startRig } from './rig.ts'
import { stacks } from './stacks.ts'

failOnLeaks()

const streams = [
  ['true', { stream: true }],
  ['false', { stream: false }],
  ['null', { stream: null }],
  ['absent', {}],
] as const
const chunks = [
  chatChunk({ role: 'assistant', content: 'well ' }),
  chatChunk({ content: 'said' }),
  chatChunk({ finish: 'stop' }),
]
const bodies = [
  ['a document', JSON.stringify(completionBody('well said'))],
  ['a document behind white space', `  \n\n ${JSON.stringify(completionBody('well said'))}\n`],
  ['events', chunks.map(dataEvent).join('') + DONE],
  ['a document with an end mark glued on', `${JSON.stringify(completionBody('well said'))}\n\n${DONE}`],
] as const
const types = ['application/json', 'Text/Event-Stream; Charset=UTF-8', 'text/plain', undefined]
const replyOf = (body: string, type: string | undefined) => reply(200, type ? { 'Content-Type': type } : {}).send(body)

describe.each(stacks)('A21 behind $name', (stack) => {
  test.each(bodies)('%s becomes what the caller asked for, whatever its type', async (what, body) => {
    await using rig = await startRig(replyOf(body, undefined), { stack })
    for (const [asked, stream] of streams) {
      for (const type of types) {
        rig.u.play(replyOf(body, type))
        const answer = await post(rig.chat, chatRequest(stream))
        expect.soft(answer.status, `stream ${asked}, ${what} as ${type}`).toBe(200)
        if (asked === 'true') expectStream(answer)
        else expectDocument(answer)
      }
    }
  })

  test.each(['a page of HTML', '<html></html>', '', '  '])('what is neither is a clean 502: "%s"', async (body) => {
    await using rig = await startRig(replyOf(body, 'text/html'), { stack, runner: { ejectAfter: 100 } })
    for (const [, stream] of streams) {
      const answer = await post(rig.chat, chatRequest(stream))
      expect([answer.status, answer.json().error.code]).toEqual([502, 'runner_protocol'])
    }
  })
})

test.each(bodies)('A21 a message route gets its own shape out of %s', async (_, body) => {
  await using rig = await startRig(replyOf(body, 'text/plain'))
  const whole = await post(rig.messages, messageRequest())
  expect(whole.json().content).toEqual([expect.objectContaining({ type: 'text', text: 'well said' })])
  const stream = await post(rig.messages, messageRequest({ stream: true }))
  expect(stream.headers['content-type']).toContain('text/event-stream')
  expect(stream.events.map(({ data }) => JSON.parse(data).delta?.text ?? '').join('')).toBe('well said')
  expect(stream.events.at(-1)?.type).toBe('message_stop')
})

test.each([
  [
    'a document',
    JSON.stringify({
      id: 'c',
      object: 'text_completion',
      choices: [{ index: 0, text: 'well said', finish_reason: 'stop' }],
    }),
  ],
  [
    'events',
    [
      { choices: [{ index: 0, text: 'well ', finish_reason: null }] },
      { choices: [{ index: 0, text: 'said', finish_reason: 'stop' }] },
    ]
      .map(dataEvent)
      .join('') + DONE,
  ],
])('A21 legacy completions get what they asked for out of %s', async (_, body) => {
  await using rig = await startRig(replyOf(body, undefined))
  const whole = await post(rig.completions, { model: 'rig-model', prompt: 'so' })
  expect(whole.json().choices[0]).toMatchObject({ text: 'well said', finish_reason: 'stop' })
  const stream = await post(rig.completions, { model: 'rig-model', prompt: 'so', stream: true })
  const data = stream.events.slice(0, -1).map((event) => JSON.parse(event.data))
  expect(data.map(({ choices }) => choices[0].text).join('')).toBe('well said')
  expect(data.at(-1).choices[0].finish_reason).toBe('stop')
})

test('A21 a document that stops in its middle is a 502 for a caller who asked for a stream', async () => {
  await using rig = await startRig(
    replyOf(JSON.stringify(completionBody('well said')).slice(0, 60), 'application/json'),
  )
  const answer = await post(rig.chat, chatRequest({ stream: true }))
  expect([answer.status, answer.json().error.type]).toEqual([502, 'server_error'])
})

function expectStream(answer: Answer): void {
  expect(answer.status, answer.text).toBe(200)
  expect(answer.headers['content-type']).toBe('text/event-stream; charset=utf-8')
  expect(streamedText(answer.body)).toBe('well said')
  expect(answer.events.at(-1)?.data).toBe('[DONE]')
  expect(answer.text).toContain('"finish_reason":"stop"')
}

function expectDocument(answer: Answer): void {
  expect(answer.status, answer.text).toBe(200)
  expect(answer.headers['content-type']).toBe('application/json')
  expect(answer.json()).toMatchObject({
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'well said' }, finish_reason: 'stop' }],
  })
}
