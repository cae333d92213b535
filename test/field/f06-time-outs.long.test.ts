import { expect, test } from 'vitest'
import { ask } from '../support/ask.ts'
import { chatChunk, completion, DONE, dataEvent, sseHead } from '../support/chat-replies.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { chatRequest, startRig, streamRequest } from './rig.ts'

failOnLeaks()

// Beyond the 300 seconds that Node's and undici's own time-outs for heads and bodies are set to.
const silenceMs = 320_000
const runner = { firstByteTimeoutMs: 900_000, idleTimeoutMs: 900_000 }

test.concurrent('F06 a runner may think for 320 s before its head when 900 s are configured', async () => {
  const late = async () => {
    await new Promise((done) => setTimeout(done, silenceMs))
    return completion('at last')
  }
  await using rig = await startRig(late, { runner })
  const answer = await ask(rig.chat, { body: chatRequest() }, silenceMs + 20_000)
  expect(answer.json().choices[0].message.content).toBe('at last')
}, 400_000)

test.concurrent('F06 a runner may be silent for 320 s in a stream when 900 s are configured', async () => {
  const [first, last] = [chatChunk({ content: 'so' }), chatChunk({ finish: 'stop' })].map(dataEvent)
  await using rig = await startRig(sseHead().send(first!).delay(silenceMs).send(last!, DONE), { runner })
  const answer = await ask(rig.chat, { body: streamRequest() }, silenceMs + 20_000)
  expect(answer.text).toBe(`${first}${last}${DONE}`)
}, 400_000)

test.concurrent('F06 a runner may be silent for 320 s behind its head when 900 s are configured', async () => {
  const last = dataEvent(chatChunk({ content: 'so', finish: 'stop' }))
  await using rig = await startRig(sseHead().delay(silenceMs).send(last, DONE), { runner })
  const answer = await ask(rig.chat, { body: streamRequest() }, silenceMs + 20_000)
  expect(answer.text).toBe(last + DONE)
}, 400_000)
