import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { post, postLive } from '../support/ask.ts'
import { chatChunk, completionBody, DONE, dataEvent, sseHead } from '../support/chat-replies.ts'
import { createGate } from '../support/gate.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { type Coding, json, reply } from '../support/reply.ts'
import { streamedText } from '../support/sse-events.ts'
import { chatRequest, messageRequest, startRig, streamRequest } from './rig.ts'
import { spliced, stacks } from './stacks.ts'

failOnLeaks()

const codings: readonly Coding[] = ['gzip', 'br', 'zstd']
const words = ['去 ', '北 ', '🙂 ']
const events = words.map((content) => dataEvent(chatChunk({ content })))
const end = [dataEvent(chatChunk({ finish: 'stop' })), DONE]
const matrix = stacks.flatMap((stack) => codings.map((coding) => ({ name: `${stack.name}, ${coding}`, stack, coding })))

describe.each(matrix)('A14 $name', ({ stack, coding }) => {
  test('compressed events reach the caller decoded, one at a time as they come', async () => {
    const gates = words.map(() => createGate())
    const paced = events.reduce((so, event, index) => so.send(event).stall(gates[index]), sseHead().compress(coding))
    await using rig = await startRig(paced.send(...end), { stack })
    await using asking = await postLive(rig.chat, streamRequest())
    for (const [index, word] of words.entries()) {
      await asking.response.shows(word.trim())
      expect(streamedText(asking.response.body)).toBe(words.slice(0, index + 1).join(''))
      gates[index]?.open()
    }
    await asking.response.done()
    expect(asking.response.text).toBe([...events, ...end].join(''))
    expect(asking.response.headers).not.toHaveProperty('content-encoding')
    expect(rig.u.requests[0]?.headers['accept-encoding']).toBe('identity')
  })

  test('a compressed document reaches the caller decoded', async () => {
    await using rig = await startRig(json(completionBody('完')).compress(coding), { stack })
    const answer = await post(rig.chat, chatRequest())
    expect(answer.json().choices[0].message.content).toBe('完')
    expect(answer.headers).not.toHaveProperty('content-encoding')
  })
})

test.each(codings)('A14 a message stream of %s events is read', async (coding) => {
  await using rig = await startRig(
    sseHead()
      .compress(coding)
      .send(...events, ...end),
  )
  const answer = await post(rig.messages, messageRequest({ stream: true }))
  expect(answer.events.map(({ data }) => JSON.parse(data).delta?.text ?? '').join('')).toBe(words.join(''))
})

test.each(codings)('A14 a %s stream that breaks off is said in band', async (coding) => {
  await using rig = await startRig(
    sseHead()
      .compress(coding)
      .send(...events)
      .reset(),
  )
  const answer = await post(rig.chat, streamRequest())
  expect(JSON.parse(answer.events.at(-1)!.data).error.code).toBe('runner_error')
  expect(answer.text).not.toContain('[DONE]')
})

test('A14 a compressed stream that stops in the middle of its coding is the runner’s failure', async () => {
  const whole = gzipSync(events.join('') + end.join(''))
  await using rig = await startRig(sseHead({ 'Content-Encoding': 'gzip' }).send(whole.subarray(0, whole.length - 20)))
  const answer = await post(rig.chat, streamRequest())
  expect(answer.text).toContain('"code":"runner_error"')
})

test.each([
  ['is not in the coding it names', sseHead({ 'Content-Encoding': 'gzip' }).send(...events, ...end)],
  ['is in a coding nobody knows', sseHead({ 'Content-Encoding': 'lz5' }).send(...events, ...end)],
])('A14 a body that %s is answered 502', async (_, wrong) => {
  await using rig = await startRig(wrong)
  const answer = await post(rig.chat, streamRequest())
  expect([answer.status, answer.json().error.code]).toEqual([502, 'runner_protocol'])
})

test('A14 a refusal that is compressed is readable', async () => {
  const said = { error: { message: 'too many words', type: 'invalid_request_error', param: null, code: null } }
  await using rig = await startRig(json(said, 400).compress('gzip'))
  const answer = await post(rig.chat, chatRequest())
  expect([answer.status, answer.json()]).toEqual([400, said])
})

test('A14 a document that would fill the memory once decoded is refused', async () => {
  const bomb = gzipSync(Buffer.alloc(80 * 1024 * 1024, 0x20))
  await using rig = await startRig(
    reply(200, { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' }).send(bomb),
    {
      stack: spliced,
    },
  )
  const answer = await post(rig.chat, chatRequest())
  expect([answer.status, answer.json().error.code]).toEqual([502, 'runner_protocol'])
})
