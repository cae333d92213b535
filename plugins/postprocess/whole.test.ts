import { expect, test } from 'vitest'
import { createTestHost } from '../../test/support/host.ts'
import type { Call } from '../call.ts'
import type { Reply } from '../reply.ts'
import { callOf, chunksOf, completionOf, type Said, settled, streamOf, wholeOf } from './test-answers.ts'

const schema = { type: 'object', properties: { at: { type: 'string', format: 'date-time' } }, required: ['at'] }
const asked = { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } }
const good = '{"at":"2026-01-02T03:04:05Z"}'
const contentOf = async (reply: Promise<Reply>): Promise<unknown> =>
  (await wholeOf(await reply)).choices?.[0]?.message?.content

const ask = (
  config: object,
  says: readonly Said[],
  more: { body?: object; host?: ReturnType<typeof createTestHost>; asked?: Call[] } = {},
): Promise<Reply> =>
  settled({
    config,
    call: callOf(more.body ?? {}),
    says,
    host: more.host ?? createTestHost(),
    ...(more.asked ? { asked: more.asked } : {}),
  })

test("the caller's schema is enforced, formats too", async () => {
  expect(await contentOf(ask({}, [completionOf(good)], { body: asked }))).toBe(good)
  await expect(ask({}, [completionOf('{"at":"tomorrow"}')], { body: asked })).rejects.toMatchObject({
    code: 'output_invalid',
    status: 422,
    message: 'the answer breaks its rules: at must match format "date-time"',
  })
  await expect(ask({}, [completionOf('{"at":1}')], { body: asked })).rejects.toMatchObject({ code: 'output_invalid' })
})

test('a streamed answer is seen whole before any of it leaves', async () => {
  const body = { ...asked, stream: true }
  const out = await chunksOf(await ask({}, [streamOf(['```json\n{"at":', '"2026-01-02T03:04:05Z"}\n```'])], { body }))
  expect(out.map(({ choices }) => choices?.[0]?.delta?.content)).toEqual([good, undefined, undefined])
  expect(out.at(-1)?.usage).toEqual({ prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 })
  await expect(ask({}, [streamOf(['{"at"', ':1}'])], { body })).rejects.toMatchObject({ code: 'output_invalid' })
})

test('a JSON object is an object, and a tool call or a refusal is no JSON', async () => {
  const body = { response_format: { type: 'json_object' } }
  await expect(ask({}, [completionOf('[1]')], { body })).rejects.toMatchObject({ message: /not a JSON object/ })
  await expect(ask({}, [completionOf('')], { body })).rejects.toMatchObject({ message: /not valid JSON/ })
  expect(await contentOf(ask({}, [completionOf(null, { refusal: 'no' })], { body }))).toBeNull()
  const tool_calls = [{ id: 'a', function: { name: 'f', arguments: '{}' } }]
  expect(await contentOf(ask({}, [completionOf(null, { tool_calls })], { body }))).toBeNull()
})

test('a schema of the caller that is wrong is refused before anything runs', async () => {
  const reached: Call[] = []
  const body = { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'objekt' } } } }
  await expect(ask({}, [], { body, asked: reached })).rejects.toMatchObject({
    code: 'invalid_schema',
    status: 400,
    detail: { field: 'response_format.json_schema.schema.type' },
  })
  const without = { response_format: { type: 'json_schema', json_schema: { name: 'x' } } }
  await expect(ask({}, [], { body: without, asked: reached })).rejects.toMatchObject({ code: 'invalid_schema' })
  expect(reached).toEqual([])
})

test('response_format may be left to the runner', async () => {
  expect(await contentOf(ask({ json: { responseFormat: 'ignore' } }, [completionOf('hi')], { body: asked }))).toBe('hi')
})

test('broken JSON is repaired unless the rules say refuse', async () => {
  const host = createTestHost()
  const said = completionOf(`Here: ${good.slice(0, -1)},}`)
  expect(await contentOf(ask({}, [said], { body: asked, host }))).toBe(good)
  expect(host.counts.get('postprocess.repaired')).toBe(1)
  await expect(ask({ onInvalid: 'refuse' }, [said], { body: asked })).rejects.toMatchObject({ code: 'output_invalid' })
})

test('a bad answer is asked for again with what was wrong, and both are paid for', async () => {
  const reached: Call[] = []
  const host = createTestHost()
  const reply = await ask({ onInvalid: 'retry' }, [completionOf('{"at":1}'), completionOf(good)], {
    body: asked,
    asked: reached,
    host,
  })
  const whole = await wholeOf(reply)
  expect(whole.choices?.[0]?.message?.content).toBe(good)
  expect(whole.usage).toEqual({ prompt_tokens: 6, completion_tokens: 10, total_tokens: 16 })
  expect(reached[1]?.request.messages?.slice(1)).toEqual([
    { role: 'assistant', content: '{"at":1}' },
    { role: 'user', content: expect.stringContaining('at must be string') },
  ])
  expect(reached[1]?.request.response_format).toEqual(asked.response_format)
  expect(host.counts.get('postprocess.retried')).toBe(1)
})

test('retries have a bound, and then the fault is told', async () => {
  const reached: Call[] = []
  const bad = completionOf('{}')
  const asking = ask({ onInvalid: 'retry', maxRetries: 2 }, [bad, bad, bad], { body: asked, asked: reached })
  await expect(asking).rejects.toMatchObject({
    code: 'output_invalid',
    message: 'the answer breaks its rules: at is required',
  })
  expect(reached).toHaveLength(3)
})

test('an error while retrying is the answer', async () => {
  const reply = await ask({ onInvalid: 'retry' }, [completionOf('{}'), 503], { body: asked })
  expect(reply.status).toBe(503)
})

test('required phrases and the shortest length are held to', async () => {
  const config = { required_phrases: ['Not advice'], min_output_length: 14 }
  expect(await contentOf(ask(config, [completionOf('🙂🙂🙂 not ADVICE')]))).toBe('🙂🙂🙂 not ADVICE')
  await expect(ask(config, [completionOf('🙂🙂 not advice')])).rejects.toMatchObject({ message: /13 of 14 characters/ })
  await expect(ask(config, [completionOf('something else altogether')])).rejects.toMatchObject({
    message: /required_phrases\[0\] is missing/,
  })
})

test('what is blocked may be asked for again', async () => {
  const config = { forbidden_phrases: ['acme'], min_output_length: 1, onInvalid: 'retry' }
  expect(await contentOf(ask(config, [completionOf('by ACME'), completionOf('by us')]))).toBe('by us')
})

test('JSON is redacted value by value and stays JSON', async () => {
  const config = {
    pii: { types: ['email', 'phone'] },
    json: { schema: { type: 'object', properties: { n: { type: 'number' } } } },
  }
  expect(await contentOf(ask(config, [completionOf('{"m":"a \\"b@c.com\\"","k":1}')]))).toBe(
    '{"m":"a \\"[redacted email]\\"","k":1}',
  )
  await expect(ask(config, [completionOf('{"n":13800138000}')])).rejects.toMatchObject({ message: /n must be number/ })
})

test('the suffix goes into its field of a JSON answer', async () => {
  const config = { suffix: { text: 'AI', field: 'note' } }
  const body = { response_format: { type: 'json_object' } }
  expect(await contentOf(ask(config, [completionOf('{"a":1}')], { body }))).toBe('{"a":1,"note":"AI"}')
  expect(await contentOf(ask(config, [completionOf('{"note":"by AI"}')], { body }))).toBe('{"note":"by AI"}')
})

test('a suffix that has no place in what the caller asks for is refused', async () => {
  await expect(ask({ suffix: 'AI' }, [], { body: asked })).rejects.toMatchObject({ code: 'unsatisfiable', status: 400 })
  const closed = { ...schema, additionalProperties: false }
  const body = { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: closed } } }
  await expect(ask({ suffix: { text: 'AI', field: 'note' } }, [], { body })).rejects.toMatchObject({
    code: 'unsatisfiable',
  })
})

test('tags are taken out before JSON is read', async () => {
  expect(await contentOf(ask({ reasoning: {} }, [completionOf(`<think>{</think>${good}`)], { body: asked }))).toBe(good)
})

test('an answer beyond the buffer is given up', async () => {
  const body = { ...asked, stream: true }
  const config = { maxBufferBytes: 1_024 }
  await expect(
    ask(config, [streamOf(Array.from({ length: 100 }, () => 'x'.repeat(20)))], { body }),
  ).rejects.toMatchObject({
    code: 'runner_protocol',
  })
})

test('choices are held to the rules apart, and the fault says which', async () => {
  const said = completionOf(good)
  const other = completionOf('{}').choices?.[0]
  const both = {
    ...said,
    choices: [
      ...(said.choices ?? []),
      { index: 1, message: other?.message ?? { role: 'assistant' }, finish_reason: 'stop' },
    ],
  }
  await expect(ask({}, [both], { body: { ...asked, n: 2 } })).rejects.toMatchObject({
    message: /choice 1: at is required/,
  })
})
