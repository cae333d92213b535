import { expect, test } from 'vitest'
import { createTestHost } from '../../test/support/host.ts'
import type { Chunk, ToolCall } from '../chat.ts'
import type { Reply } from '../reply.ts'
import { callOf, chunkOf, chunksOf, completionOf, settled, wholeOf } from './test-answers.ts'

const config = { pii: { types: ['email', 'phone'], toolCalls: true } }
const part = (part: object): Chunk => chunkOf({ delta: { tool_calls: [part as ToolCall] } })
const stream = (chunks: readonly Chunk[], with_: object = config): Promise<Reply> =>
  settled({ config: with_, call: callOf({ stream: true }), says: [chunks], host: createTestHost() })
const done = chunkOf({ delta: {}, finish_reason: 'tool_calls' })
const argumentsOf = async (reply: Reply): Promise<unknown[]> => {
  const { choices } = await wholeOf(reply)
  return choices?.[0]?.message?.tool_calls?.map((call) => call.function?.arguments) ?? []
}

test('arguments are redacted inside their JSON, and names and ids leave at once', async () => {
  const chunks = [
    part({ index: 0, id: 'a', type: 'function', function: { name: 'mail', arguments: '' } }),
    part({ index: 0, function: { arguments: '{"to":"jo\\u006' } }),
    part({ index: 0, function: { arguments: '8n@x.org","n":13800138000,"q":"\\"hi\\""}' } }),
    done,
  ]
  const out = await chunksOf(await stream(chunks))
  expect(out.map(({ choices }) => choices?.[0]?.delta?.tool_calls)).toEqual([
    [{ index: 0, id: 'a', type: 'function', function: { name: 'mail', arguments: '' } }],
    [{ index: 0, function: { arguments: '{"to":"[redacted email]","n":"[redacted phone]","q":"\\"hi\\""}' } }],
    undefined,
  ])
  expect(out.at(-1)).toBe(done)
})

test('parallel calls stay apart, whether told by index or only by a new id at one index', async () => {
  const byIndex = [
    part({ index: 0, id: 'a', function: { name: 'f', arguments: '{"a":' } }),
    part({ index: 1, id: 'b', function: { name: 'g', arguments: '{"b":' } }),
    part({ index: 0, function: { arguments: '"a@b.com"}' } }),
    part({ index: 1, function: { arguments: '2}' } }),
    done,
  ]
  expect(await argumentsOf(await stream(byIndex))).toEqual(['{"a":"[redacted email]"}', '{"b":2}'])
  const byId = [
    part({ index: 0, id: 'a', function: { name: 'f', arguments: '{"a":1}' } }),
    part({ index: 0, id: 'b', function: { name: 'g', arguments: '{"b":"c@d.org"}' } }),
    done,
  ]
  expect(await argumentsOf(await stream(byId))).toEqual(['{"a":1}', '{"b":"[redacted email]"}'])
})

test('the calls of a whole answer are redacted in place', async () => {
  const tool_calls = [
    { id: 'a', type: 'function', function: { name: 'f', arguments: '{"to":"a@b.com"}' } },
    { id: 'b', type: 'function', function: { name: 'g', arguments: 'not JSON c@d.com' } },
  ]
  const said = completionOf(null, { tool_calls })
  const reply = await settled({ config, call: callOf({}), says: [said], host: createTestHost() })
  expect(await argumentsOf(reply)).toEqual(['{"to":"[redacted email]"}', 'not JSON [redacted email]'])
})

test('arguments that nothing changes keep their text, and without toolCalls they pass through', async () => {
  const text = '{ "big": 12345678901234567890, "s": "x" }'
  const chunks = [part({ index: 0, id: 'a', function: { name: 'f', arguments: text } }), done]
  expect(await argumentsOf(await stream(chunks))).toEqual([text])
  expect(await chunksOf(await stream(chunks, { pii: { types: ['email'] } }))).toEqual(chunks)
})

test('arguments without end are refused', async () => {
  const chunks = [part({ index: 0, id: 'a', function: { name: 'f', arguments: 'x'.repeat(2_000_000) } }), done]
  await expect(stream(chunks).then(chunksOf)).rejects.toMatchObject({ code: 'output_invalid' })
})
