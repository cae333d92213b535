import { describe, expect, test } from 'vitest'
import { post } from '../support/ask.ts'
import { chatChunk, sse } from '../support/chat-replies.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { jsonEvents } from '../support/sse-events.ts'
import { chatRequest, messageRequest, startRig, streamRequest } from './rig.ts'
import { cached, stacks } from './stacks.ts'

failOnLeaks()

const open = (index: number, id: string, name: string, args = '') => ({
  index,
  id,
  type: 'function',
  function: { name, arguments: args },
})
const more = (index: number, args: string) => ({ index, function: { arguments: args } })
const calls = (...toolCalls: unknown[]) => chatChunk({ toolCalls })
const finish = chatChunk({ finish: 'tool_calls' })
const weather = { id: 'call_w', type: 'function', function: { name: 'weather', arguments: '{"city":"去"}' } }
const clock = { id: 'call_c', type: 'function', function: { name: 'clock', arguments: '{"zone":"UTC"}' } }

/** Two calls, said in every way that servers say them. */
const ways: readonly (readonly [string, readonly unknown[]])[] = [
  [
    'fragments of two calls in turn, ids on the first only',
    [
      chatChunk({ role: 'assistant' }),
      calls(open(0, 'call_w', 'weather')),
      calls(open(1, 'call_c', 'clock')),
      calls(more(0, '{"city"')),
      calls(more(1, '{"zone"')),
      calls(more(0, ':"去"}')),
      calls(more(1, ':"UTC"}')),
      finish,
    ],
  ],
  [
    'two entries with index 0 in the very first chunk',
    [calls(open(0, 'call_w', 'weather', '{"city":"去"}'), open(0, 'call_c', 'clock', '{"zone":"UTC"}')), finish],
  ],
  [
    'two calls at index 0 with ids of their own',
    [
      calls(open(0, 'call_w', 'weather', '{"city"')),
      calls(more(0, ':"去"}')),
      calls(open(0, 'call_c', 'clock', '{"zone"')),
      calls(more(0, ':"UTC"}')),
      finish,
    ],
  ],
  [
    'the id on every fragment',
    [
      calls(open(0, 'call_w', 'weather', '{"city"'), open(1, 'call_c', 'clock', '{"zone"')),
      calls({ ...more(0, ':"去"}'), id: 'call_w' }, { ...more(1, ':"UTC"}'), id: 'call_c' }),
      finish,
    ],
  ],
]

describe.each(ways)('A19 %s', (_, chunks) => {
  test.each(stacks)('pass unchanged behind $name', async (stack) => {
    await using rig = await startRig(sse(chunks), { stack })
    const answer = await post(rig.chat, streamRequest())
    expect(jsonEvents(answer.body)).toEqual(chunks)
  })

  test.each(stacks)('add up to two calls behind $name', async (stack) => {
    await using rig = await startRig(sse(chunks), { stack })
    const answer = await post(rig.chat, chatRequest())
    expect(answer.json().choices[0].message.tool_calls).toEqual([weather, clock])
    expect(answer.json().choices[0].finish_reason).toBe('tool_calls')
  })

  test('are two calls in the cache, as a stream and whole', async () => {
    await using rig = await startRig(sse(chunks), { stack: cached })
    const request = streamRequest()
    await post(rig.chat, request)
    const whole = await post(rig.chat, { ...request, stream: false })
    expect(whole.headers['cache-status']).toContain('hit')
    expect(whole.json().choices[0].message.tool_calls).toEqual([weather, clock])
    const again = await post(rig.chat, request)
    const said = jsonEvents(again.body).flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? [])
    expect(said).toEqual([
      { index: 0, ...weather },
      { index: 1, ...clock },
    ])
  })

  test('are two blocks of a message, whole and as a stream', async () => {
    await using rig = await startRig(sse(chunks))
    const blocks = [
      { type: 'tool_use', id: 'call_w', name: 'weather', input: { city: '去' } },
      { type: 'tool_use', id: 'call_c', name: 'clock', input: { zone: 'UTC' } },
    ]
    const whole = await post(rig.messages, messageRequest())
    expect(whole.json().content).toMatchObject(blocks)
    const stream = await post(rig.messages, messageRequest({ stream: true }))
    expect(blocksOf(stream.events.map(({ data }) => JSON.parse(data)))).toMatchObject(blocks)
  })
})

test('A19 calls of two choices are kept apart', async () => {
  const both = [
    { ...calls(open(0, 'call_w', 'weather', '{"city":"去"}')) },
    chatChunk({ choice: 1, toolCalls: [open(0, 'call_c', 'clock', '{"zone":"UTC"}')] }),
    finish,
    chatChunk({ choice: 1, finish: 'tool_calls' }),
  ]
  await using rig = await startRig(sse(both))
  const { choices } = (await post(rig.chat, chatRequest({ n: 2 }))).json()
  expect(choices.map((choice: any) => choice.message.tool_calls)).toEqual([[weather], [clock]])
})

function blocksOf(events: readonly any[]): readonly unknown[] {
  const blocks: any[] = []
  for (const { type, index, content_block: block, delta } of events) {
    if (type === 'content_block_start') blocks[index] = { ...block, json: '' }
    if (delta?.type === 'input_json_delta') blocks[index].json += delta.partial_json
  }
  return blocks.map(({ json, ...block }) => ({ ...block, input: JSON.parse(json) }))
}
