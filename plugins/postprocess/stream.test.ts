import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { createTestHost } from '../../test/support/host.ts'
import type { Chunk } from '../chat.ts'
import { type Reply, replyFromBytes } from '../reply.ts'
import { createCleaner } from './cleaner.ts'
import type { Cleaning } from './cleaning.ts'
import { compileRules } from './compile.ts'
import { configSchema } from './config.ts'
import { cleaningFor } from './rule.ts'
import {
  callOf,
  chunkOf,
  chunksOf,
  completionOf,
  piecesOf,
  type Said,
  settled,
  streamOf,
  wholeOf,
} from './test-answers.ts'

const stream = (config: object, chunks: readonly Chunk[], body: object = {}): Promise<Reply> =>
  settled({ config, call: callOf({ stream: true, ...body }), says: [chunks], host: createTestHost() })
const answer = (config: object, said: Said, body: object = {}): Promise<Reply> =>
  settled({ config, call: callOf(body), says: [said], host: createTestHost() })
const pii = { pii: { types: ['email', 'card'] } }

test('without rules a reply passes as it came', async () => {
  const chunks = streamOf(['john@example.com'])
  expect(await chunksOf(await stream({}, chunks))).toEqual(chunks)
})

test('personal data is redacted across chunks, and plain chunks are the same objects', async () => {
  const chunks = streamOf(['Mail ', 'john@ex', 'ample.com ', 'now, ', 'bye. '])
  const out = await chunksOf(await stream(pii, chunks))
  expect(out.map(({ choices }) => choices?.[0]?.delta?.content)).toEqual([
    '',
    'Mail ',
    '[redacted email] ',
    'now, ',
    'bye. ',
    undefined,
    undefined,
  ])
  expect(out[0]).toBe(chunks[0])
  expect(out[1]).toBe(chunks[1])
})

test('held text leaves before the chunk with the finish reason, and usage is kept', async () => {
  const out = await chunksOf(await stream(pii, streamOf(['ask ', 'john'])))
  expect(out.slice(2)).toEqual([
    chunkOf({ delta: { content: 'john' } }),
    chunkOf({ delta: {}, finish_reason: 'stop' }),
    expect.objectContaining({ usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 } }),
  ])
})

test('a stream that ends without a finish reason still gives what was held back', async () => {
  const out = await piecesOf(await stream(pii, [chunkOf({ delta: { content: 'ask john' } })]))
  expect(out.join('')).toBe('ask john')
})

test('a blocked phrase ends the stream before any of it has left', async () => {
  const reply = await stream({ forbidden_phrases: ['stop here'] }, streamOf(['go on, ', 'STOP ', 'here', ' and on']))
  const left: string[] = []
  const reading = (async () => {
    for await (const { chunks } of reply.batches())
      for (const { choices } of chunks) left.push(choices?.[0]?.delta?.content ?? '')
  })()
  await expect(reading).rejects.toMatchObject({
    code: 'output_invalid',
    message: 'the answer was stopped by the rule forbidden_phrases',
  })
  expect(left.join('')).not.toMatch(/stop/i)
})

test('a forbidden phrase may be redacted instead', async () => {
  const config = { forbidden_phrases: ['ACME'], forbiddenAction: 'redact', redaction: '({label})' }
  expect((await piecesOf(await stream(config, streamOf(['an ac', 'me phone'])))).join('')).toBe('an (text) phone')
})

test('choices are scanned apart', async () => {
  const say = (index: number, content: string): Chunk => chunkOf({ index, delta: { content } })
  const done = (index: number): Chunk => chunkOf({ index, delta: {}, finish_reason: 'stop' })
  const chunks = [say(0, 'a@b'), say(1, '.com '), say(0, '.org '), say(1, 'c@d.net'), done(0), done(1)]
  const { choices } = await wholeOf(await stream(pii, chunks, { n: 2 }))
  expect(choices?.map(({ message }) => message?.content)).toEqual(['[redacted email] ', '.com [redacted email]'])
})

test('thoughts in their own field are scanned too, and are over when the answer begins', async () => {
  const chunks = [
    chunkOf({ delta: { reasoning_content: 'ask john@x.org or jo' } }),
    chunkOf({ delta: { content: 'Done. ' } }),
    chunkOf({ delta: {}, finish_reason: 'stop' }),
  ]
  const out = await chunksOf(await stream(pii, chunks))
  expect(out.map(({ choices }) => choices?.[0]?.delta)).toEqual([
    { reasoning_content: 'ask [redacted email] or ' },
    { reasoning_content: 'jo' },
    { content: 'Done. ' },
    {},
  ])
})

test('a legacy completion is scanned in its text', async () => {
  const chunks = [
    chunkOf({ text: 'to a@b.' }),
    chunkOf({ text: 'com' }),
    chunkOf({ text: '', finish_reason: 'length' }),
  ]
  const call = callOf({ stream: true }, { route: 'completions' })
  const out = await chunksOf(
    await settled({ config: { ...pii, suffix: ' (AI)' }, call, says: [chunks], host: createTestHost() }),
  )
  expect(out.map(({ choices }) => choices?.[0]?.text).join('')).toBe('to [redacted email] (AI)')
})

test('a whole answer is cleaned like a stream', async () => {
  const whole = await wholeOf(await answer({ ...pii, suffix: '\n(AI)' }, completionOf('mail a@b.com')))
  expect(whole).toEqual(completionOf('mail [redacted email]\n(AI)'))
})

test('token probabilities of text that changes do not leave', async () => {
  const logprobs = { content: [{ token: 'a@b.com', logprob: 0, bytes: null, top_logprobs: [] }] }
  const said = completionOf('a@b.com')
  const choices = said.choices?.map((choice) => ({ ...choice, logprobs }))
  expect((await wholeOf(await answer(pii, { ...said, choices: choices ?? [] }))).choices?.[0]?.['logprobs']).toBeFalsy()
})

test('tags of thoughts are taken out, unless the caller speaks of them', async () => {
  const config = { reasoning: {} }
  const said = streamOf(['<thi', 'nk>hm</th', 'ink>\n', '<answer>4', '2</answer>'])
  expect((await piecesOf(await stream(config, said))).join('')).toBe('42')
  const body = { messages: [{ role: 'user', content: 'Put it in <answer> tags' }] }
  expect((await piecesOf(await stream(config, said, body))).join('')).toBe('<answer>42</answer>')
})

test('values of the request do not come back', async () => {
  const body = {
    messages: [
      { role: 'system', content: 'The code is Zebra-99.' },
      { role: 'user', content: [{ type: 'text', text: 'order 123456' }] },
    ],
  }
  const config = { echo_guard: ['messages[0].content', 'messages[-1].content'] }
  const out = await piecesOf(
    await stream(config, streamOf(['I say: the code is ', 'zebra-99. And order 123456, text']), body),
  )
  expect(out.join('')).toBe('I say: [redacted value] And [redacted value], text')
})

test('what is annotated stays, and is told in the last chunk', async () => {
  const config = { custom_safety_rules: [{ id: 'brand', trigger_phrases: ['acme'], action: 'annotate' }] }
  const out = await chunksOf(await stream(config, streamOf(['Acme ', 'is fine'])))
  expect(out.at(-2)).toMatchObject({ foldgate: { annotations: [{ choice: 0, rule: 'brand' }] } })
  expect((await wholeOf(await answer(config, completionOf('by ACME'))))['foldgate']).toEqual({
    annotations: [{ choice: 0, rule: 'brand' }],
  })
})

test.each([
  ['block_none', 'low', false],
  ['block_high', 'medium', false],
  ['block_high', 'high', true],
  ['block_medium', 'medium', true],
  ['block_medium', 'low', false],
  ['block_low', 'low', true],
  ['block_all', 'low', true],
])('terms of a category end an answer by the threshold: %s on %s', async (threshold, severity, blocks) => {
  const config = {
    safety: [{ category: 'medical', threshold }],
    safetyTerms: { medical: { low: ['low term'], medium: ['medium term'], high: ['high term'] } },
  }
  const reading = answer(config, completionOf(`a ${severity} term`)).then(wholeOf)
  if (blocks)
    await expect(reading).rejects.toMatchObject({ message: 'the answer was stopped by the rule safety.medical' })
  else expect((await reading).choices).toHaveLength(1)
})

test('the suffix stands at length too, not on tool calls, and not twice', async () => {
  const config = { suffix: ' — AI' }
  expect((await piecesOf(await stream(config, streamOf(['cut'], 'length')))).join('')).toBe('cut — AI')
  expect((await piecesOf(await stream(config, streamOf(['said', ' —', ' AI'])))).join('')).toBe('said — AI')
  expect((await piecesOf(await stream(config, streamOf([])))).join('')).toBe(' — AI')
  const call = chunkOf({ delta: { tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }] } })
  expect(await piecesOf(await stream(config, [call, chunkOf({ delta: {}, finish_reason: 'tool_calls' })]))).toEqual([])
})

test('text is whole wherever the bytes of a character are cut', async () => {
  const chunks = streamOf(['北京 🙂 ', '到 a@b.com。', '再见'])
  const bytes = Buffer.from(`${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`)
  const [compiled, call] = [
    compileRules(configSchema.parse(pii), { declared: new Set(), faults: [] }),
    callOf({ stream: true }),
  ]
  for (let cut = 1; cut < bytes.length; cut++) {
    const parts = Readable.from([bytes.subarray(0, cut), bytes.subarray(cut)])
    const reply = replyFromBytes({ status: 200, streamed: true, source: 'runner' }, 'events', parts)
    const cleaned = reply.through(createCleaner(cleaningFor(compiled, call, () => {}) as Cleaning))
    expect((await piecesOf(cleaned)).join('')).toBe('北京 🙂 到 [redacted email]。再见')
  }
})

test('an answer that is not streamed is refused before anything of it leaves', async () => {
  const asking = answer({ forbidden_phrases: ['acme'] }, completionOf('by ACME'))
  await expect(asking).rejects.toMatchObject({
    code: 'output_invalid',
    status: 422,
    message: /stopped by the rule forbidden_phrases/,
  })
})

test('an error of the runner is left alone', async () => {
  const reply = await answer({ ...pii, required_phrases: ['x'], suffix: 'y' }, 429)
  expect(reply.status).toBe(429)
  let body = ''
  for await (const bytes of reply.bytes()) body += bytes.toString()
  expect(body).toBe('{"error":{"message":"no"}}')
})

test('redactions and blocks are counted', async () => {
  const host = createTestHost()
  await wholeOf(await settled({ config: pii, call: callOf({}), says: [completionOf('a@b.com c@d.com')], host }))
  expect(host.counts.get('postprocess.redacted')).toBe(2)
})

test('rules differ by route and by tenant', async () => {
  const config = {
    pii: { types: ['email'] },
    routes: { completions: { pii: null } },
    tenants: { t2: { pii: { types: ['phone'] } } },
  }
  const said = completionOf('a@b.com 13800138000')
  const ask = async (more: Parameters<typeof callOf>[1]): Promise<unknown> => {
    const whole = await wholeOf(await settled({ config, call: callOf({}, more), says: [said], host: createTestHost() }))
    return whole.choices?.[0]?.message?.content
  }
  expect(await ask({})).toBe('[redacted email] 13800138000')
  expect(await ask({ route: 'completions' })).toBe('a@b.com 13800138000')
  expect(await ask({ tenant: 't2' })).toBe('a@b.com [redacted phone]')
  expect(await ask({ tenant: 'constructor' })).toBe('[redacted email] 13800138000')
})
