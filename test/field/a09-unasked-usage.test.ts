import { describe, expect, test } from 'vitest'
import { post } from '../support/ask.ts'
import { chatChunk, completion, DONE, dataEvent, fault, sse, streamed } from '../support/chat-replies.ts'
import type { Exchange } from '../support/exchange.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { json, type Reply } from '../support/reply.ts'
import { jsonEvents, streamedText } from '../support/sse-events.ts'
import { counted, messageRequest, startRig, streamRequest } from './rig.ts'
import { metered, parsing } from './stacks.ts'

failOnLeaks()

const usage = { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 }
/** Refuses the option in one of the ways that servers do. */
const refusing = (refusal: Reply) => (request: Exchange) =>
  'stream_options' in request.json() ? refusal : streamed(['hi ', 'there'])
const refusals: readonly (readonly [string, Reply])[] = [
  ['400', fault(400, 'Unrecognized request argument supplied: stream_options')],
  [
    '422',
    json(
      { detail: [{ type: 'extra_forbidden', loc: ['body', 'stream_options'], msg: 'Extra inputs are not permitted' }] },
      422,
    ),
  ],
]
/** Reports usage in a chunk without choices, where it is asked for. */
const reporting = (request: Exchange) =>
  streamed(['hi ', 'there'], request.json().stream_options?.include_usage ? usage : undefined)
const legacy = (text: string, finish: string | null) => ({
  object: 'text_completion',
  choices: [{ index: 0, text, finish_reason: finish }],
})
const reportingLegacy = (request: Exchange) => {
  const tail = request.json().stream_options?.include_usage ? [{ object: 'text_completion', choices: [], usage }] : []
  return sse([legacy('hi ', null), legacy('there', 'stop'), ...tail])
}

describe.each(parsing)('A09 behind $name', (stack) => {
  test('a caller who did not ask for usage never sees its chunk, and it is read all the same', async () => {
    await using rig = await startRig(reporting, { stack })
    const answer = await post(rig.chat, streamRequest())
    for (const chunk of jsonEvents(answer.body.subarray(0, answer.body.indexOf(DONE))))
      expect(chunk.choices[0]).toBeDefined()
    expect(answer.text).not.toContain('usage')
    expect(streamedText(answer.body)).toBe('hi there')
  })

  test('a caller who asked for usage gets its chunk', async () => {
    await using rig = await startRig(reporting, { stack })
    const answer = await post(rig.chat, streamRequest({ stream_options: { include_usage: true } }))
    expect(answer.text).toContain(dataEvent(chatChunk({ choice: null, usage })))
  })

  test('legacy completions are no different', async () => {
    await using rig = await startRig(reportingLegacy, { stack })
    const answer = await post(rig.completions, { model: 'rig-model', prompt: `so ${stack.name}`, stream: true })
    expect(answer.events.map(({ data }) => data)).toEqual([
      ...[legacy('hi ', null), legacy('there', 'stop')].map((each) => JSON.stringify(each)),
      '[DONE]',
    ])
  })

  test.each(refusals)(
    'a runner that refuses the option with %s is asked again without it, once, and remembered',
    async (_, refusal) => {
      await using rig = await startRig(refusing(refusal), { stack })
      for (const call of [1, 2]) {
        const answer = await post(rig.chat, streamRequest())
        expect(answer.status, `call ${call}`).toBe(200)
        expect(streamedText(answer.body)).toBe('hi there')
      }
      const asked = rig.u.requests.map((request) => 'stream_options' in request.json())
      // Layers that do not read usage never ask.
      expect(asked).toEqual(asked.length === 2 ? [false, false] : [true, false, false])
    },
  )
})

test('A09 usage is metered where it is reported, and counted here where it is not (scenario 29)', async () => {
  await using rig = await startRig(reporting, { stack: metered })
  await post(rig.chat, streamRequest())
  expect(await counted(rig.gateway, 'tokens_total', /kind="input"/)).toBe(usage.prompt_tokens)
  expect(await counted(rig.gateway, 'tokens_total', /kind="output"/)).toBe(usage.completion_tokens)
  expect(await counted(rig.gateway, 'layer_events_total', /estimated-usage/)).toBe(0)
  rig.u.play(refusing(refusals[0]![1]))
  await post(rig.chat, streamRequest())
  expect(await counted(rig.gateway, 'layer_events_total', /estimated-usage/)).toBe(1)
})

test('A09 a runner is told not to be asked for usage by its configuration', async () => {
  await using rig = await startRig(refusing(fault(400, 'bad request')), {
    stack: metered,
    runner: { includeUsage: 'never' },
  })
  expect(streamedText((await post(rig.chat, streamRequest())).body)).toBe('hi there')
  expect(rig.u.requests).toHaveLength(1)
})

test('A09 another refusal is not tried again, and reaches the caller as it came', async () => {
  await using rig = await startRig(fault(400, 'no such model'), { stack: metered })
  const answer = await post(rig.chat, streamRequest())
  expect([answer.status, answer.json().error.message]).toEqual([400, 'no such model'])
  expect(rig.u.requests).toHaveLength(1)
})

test('A09 a caller’s own option is its own business', async () => {
  await using rig = await startRig(refusing(refusals[0]![1]), { stack: metered })
  const answer = await post(rig.chat, streamRequest({ stream_options: { include_usage: true } }))
  expect(answer.status).toBe(400)
  expect(answer.json().error.message).toContain('stream_options')
  expect(rig.u.requests).toHaveLength(1)
})

test.each(refusals)(
  'A09 a message stream, whose usage the translation asks for, lives with a %s',
  async (_, refusal) => {
    await using rig = await startRig(refusing(refusal))
    for (const call of [1, 2]) {
      const answer = await post(rig.messages, messageRequest({ stream: true }))
      expect(answer.status, `call ${call}`).toBe(200)
      expect(answer.text).toContain('message_stop')
    }
    expect(rig.u.requests.map((request) => 'stream_options' in request.json())).toEqual([true, false, false])
  },
)

test('A09 a call that is not streamed is never given the option', async () => {
  await using rig = await startRig(completion('hi'), { stack: metered })
  await post(rig.chat, streamRequest({ stream: false }))
  expect(rig.u.requests[0]!.json()).not.toHaveProperty('stream_options')
})
