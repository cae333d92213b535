import { describe, expect, test } from 'vitest'
import { type Answer, post } from '../support/ask.ts'
import { chat, chatChunk, completionBody, DONE, dataEvent, sse, sseHead } from '../support/chat-replies.ts'
import { startTestGateway } from '../support/gateway.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { json, type Reply } from '../support/reply.ts'
import { streamedText } from '../support/sse-events.ts'
import { startUpstream } from '../support/upstream.ts'
import { chatRequest, counted, messageRequest, routesOf, startRig, streamRequest } from './rig.ts'
import { cached, stacks } from './stacks.ts'

failOnLeaks()

const busy = { id: 'x', choices: [], error: { code: 502, message: 'busy' } }
const deltas = ['a', 'b', 'c', 'd', 'e'].map((content) => dataEvent(chatChunk({ content })))
const late: readonly (readonly [string, Reply])[] = [
  ['in a read of its own', sseHead().send(...deltas, dataEvent(busy), DONE)],
  ['in the read of the last delta', sseHead().send(deltas.join('') + dataEvent(busy) + DONE)],
  [
    'cut in two',
    sseHead()
      .send(...deltas)
      .cut(dataEvent(busy).slice(0, 25), dataEvent(busy).slice(25))
      .send(DONE),
  ],
  ['without the last line end', sseHead().send(...deltas, dataEvent(busy).trimEnd())],
]

describe.each(stacks)('A12 behind $name', (stack) => {
  test('an error object as the first event has its own status, and counts as a failure', async () => {
    await using rig = await startRig(sse([busy]), { stack })
    const answer = await post(rig.chat, streamRequest())
    expect(answer.status).toBe(502)
    expect(answer.json().error).toMatchObject({ message: 'busy (502)', code: 'runner_error', type: 'server_error' })
    expect(await counted(rig.gateway, 'requests_total', /code="502"/)).toBe(1)
  })

  test.each(late)('an error object after five deltas, %s, is said once, without an end mark', async (_, dying) => {
    await using rig = await startRig(dying, { stack, runner: { ejectAfter: 1 } })
    const answer = await post(rig.chat, streamRequest())
    expect(textBefore(answer)).toBe('abcde')
    expect(answer.events).toHaveLength(6)
    expect(JSON.parse(answer.events.at(-1)?.data ?? '').error).toMatchObject({
      message: 'busy (502)',
      code: 'runner_error',
    })
    expect(await counted(rig.gateway, 'requests_total', /code="502"/)).toBe(1)
    // It is the runner's failure: it is taken out of rotation.
    expect((await post(rig.chat, streamRequest())).status).toBe(503)
  })

  test('an error object as the first event lets another runner answer', async () => {
    await using first = await startUpstream(sse([chatChunk({ role: 'assistant', content: '' }), busy]))
    await using second = await startUpstream(chat('well'))
    await using gateway = await startTestGateway({ runners: [first.url, second.url], layers: stack.layers })
    const answer = await post(routesOf(gateway.url).chat, streamRequest())
    expect(streamedText(answer.body)).toBe('well')
    expect(answer.text).not.toContain('busy')
    expect([first.requests.length, second.requests.length]).toEqual([1, 1])
  })

  test.each([
    ['as a stream', true],
    ['whole', false],
  ])('a document that is an error with status 200 is answered with its own status, asked for %s', async (_, stream) => {
    await using rig = await startRig(json({ error: { message: 'no such thing', code: 404 } }), { stack })
    const answer = await post(rig.chat, chatRequest({ stream }))
    expect(answer.status).toBe(404)
    expect(answer.json().error.message).toBe('no such thing (404)')
  })

  test('an error that says null, and one that the answer talks about, are none', async () => {
    const talk = [{ ...chatChunk({ content: 'an "error": {"code": 1}' }), error: null }, chatChunk({ finish: 'stop' })]
    await using rig = await startRig(sse(talk), { stack })
    const answer = await post(rig.chat, streamRequest())
    expect(streamedText(answer.body)).toBe('an "error": {"code": 1}')
    expect(answer.text).toContain('[DONE]')
  })
})

test.each([
  [429, 'rate_limited', 429],
  [503, 'no_capacity', 503],
  ['504', 'runner_timeout', 504],
  [401, 'runner_credential', 502],
  [400, 'invalid_request', 400],
  ['context_length_exceeded', 'context_length_exceeded', 400],
  [undefined, 'runner_error', 502],
])('A12 an error with the code %s is %s, status %i', async (code, ours, status) => {
  await using rig = await startRig(sse([{ error: { message: 'so it is', code } }]))
  const answer = await post(rig.chat, streamRequest())
  expect([answer.status, answer.json().error.code]).toEqual([status, ours])
  expect(answer.json().error.message).toContain('so it is')
})

test('A12 an error of the caller is not tried on another runner', async () => {
  await using first = await startUpstream(sse([{ error: { message: 'too long', code: 400 } }]))
  await using second = await startUpstream(chat('never'))
  await using gateway = await startTestGateway({ runners: [first.url, second.url] })
  const answer = await post(routesOf(gateway.url).chat, streamRequest())
  expect(answer.status).toBe(400)
  expect(second.requests).toHaveLength(0)
})

test.each([
  ['in a stream', true, sse([{ object: 'error', message: 'old words', code: 500 }])],
  ['in a document', false, json({ object: 'error', message: 'old words', code: 500 })],
])('A12 an error object in place of the answer %s is one too', async (_, stream, reply) => {
  await using rig = await startRig(reply)
  const answer = await post(rig.chat, chatRequest({ stream }))
  expect([answer.status, answer.json().error.message]).toEqual([502, 'old words (500)'])
})

test('A12 an error in a stream is not kept, with an end mark or without', async () => {
  await using rig = await startRig(
    late
      .map(([, reply]) => reply)
      .slice(0, 1)
      .concat(sse([chatChunk({ content: 'fine', finish: 'stop' })])),
    {
      stack: cached,
    },
  )
  const request = streamRequest()
  await post(rig.chat, request)
  expect(streamedText((await post(rig.chat, request)).body)).toBe('fine')
  expect(rig.u.requests).toHaveLength(2)
})

test('A12 an error in a whole answer that has choices all the same passes', async () => {
  const odd = completionBody('fine', { error: { message: 'a warning' } })
  await using rig = await startRig(json(odd))
  expect((await post(rig.chat, chatRequest())).json()).toEqual(odd)
})

test('A12 an error object is an error event of Anthropic, its message kept', async () => {
  await using rig = await startRig(late[0]![1])
  const answer = await post(rig.messages, messageRequest({ stream: true }))
  expect(JSON.parse(answer.events.at(-1)!.data)).toMatchObject({ type: 'error', error: { message: 'busy (502)' } })
})

function textBefore(answer: Answer): string {
  return streamedText(
    answer.events
      .slice(0, -1)
      .map(({ data }) => dataEvent(data))
      .join(''),
  )
}
