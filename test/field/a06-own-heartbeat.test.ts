import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { postLive } from '../support/ask.ts'
import { chatChunk, DONE, dataEvent, sseHead } from '../support/chat-replies.ts'
import { createGate, type Gate } from '../support/gate.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { readSse } from '../support/sse-events.ts'
import { startRig, streamRequest } from './rig.ts'
import { stacks } from './stacks.ts'

failOnLeaks()

const config = { listen: { heartbeatMs: 20 } }
const numbered = (id: number, data: unknown) => `id: ${id}\n${dataEvent(data)}`
const stalling = (gate: Gate) =>
  sseHead()
    .send(numbered(1, chatChunk({ content: 'one ' })))
    .stall(gate)
    .send(numbered(2, chatChunk({ content: 'two' })), numbered(3, chatChunk({ finish: 'stop' })), DONE)

describe.each(stacks)('A06 behind $name', (stack) => {
  test('a heartbeat of ours is a comment without a blank line, so that it dispatches nothing', async () => {
    const gate = createGate()
    await using rig = await startRig(stalling(gate), { stack, config })
    await using asking = await postLive(rig.chat, streamRequest())
    await asking.response.shows(':\n:\n:\n')
    expect(dispatchedByPython(asking.response.text)).toHaveLength(1)
    gate.open()
    await asking.response.done()
    const { events, comments } = readSse(asking.response.body)
    expect(comments.length).toBeGreaterThanOrEqual(3)
    expect(events).toHaveLength(4)
    expect(dispatchedByPython(asking.response.text)).toHaveLength(4)
  })

  test('openai’s own client reads on over heartbeats', async () => {
    const gate = createGate()
    await using rig = await startRig(stalling(gate), { stack, config })
    const client = new OpenAI({
      apiKey: 'none',
      baseURL: `${rig.gateway.url}/v1`,
      fetch: beatingOpens(gate),
      maxRetries: 0,
    })
    const stream = await client.chat.completions.create(
      streamRequest() as never as OpenAI.ChatCompletionCreateParamsStreaming,
    )
    const said: (string | null | undefined)[] = []
    for await (const chunk of stream) said.push(chunk.choices[0]?.delta.content)
    expect(said).toEqual(['one ', 'two', undefined])
  })
})

test('A06 Anthropic’s own client reads on over heartbeats', async () => {
  const gate = createGate()
  await using rig = await startRig(stalling(gate), { config })
  const client = new Anthropic({ apiKey: 'none', baseURL: rig.gateway.url, fetch: beatingOpens(gate), maxRetries: 0 })
  const message = await client.messages
    .stream({ model: 'rig-model', max_tokens: 10, messages: [{ role: 'user', content: 'so' }] })
    .finalMessage()
  expect(message.content).toMatchObject([{ type: 'text', text: 'one two' }])
})

/** A fetch that opens the gate once three heartbeats have passed through it. */
function beatingOpens(gate: Gate): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    let seen = ''
    const watch = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(bytes, controller) {
        seen += new TextDecoder().decode(bytes)
        if (seen.split('\n').filter((line) => line === ':').length >= 3) gate.open()
        controller.enqueue(bytes)
      },
    })
    return new Response(response.body?.pipeThrough(watch) ?? null, response)
  }
}

/**
 * What openai-python's decoder dispatches: at a blank line, unlike the standard, also an event without data once an id was seen, since that
 * stays set.
 */
function dispatchedByPython(text: string): readonly string[] {
  const dispatched: string[] = []
  let [data, id, event] = [[] as string[], '', '']
  for (const line of text.split('\n').slice(0, -1)) {
    if (line === '') {
      if (data.length > 0 || id || event) dispatched.push(data.join('\n'))
      data = []
      event = ''
    } else if (line.startsWith('data:')) data.push(line.slice(6))
    else if (line.startsWith('id:')) id = line.slice(4)
    else if (line.startsWith('event:')) event = line.slice(7)
  }
  return dispatched
}
