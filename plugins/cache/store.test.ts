import { describe, expect, test } from 'vitest'
import { type Completion, chunksFromCompletion, completionFromChunks } from '../chunks.ts'
import {
  answerTo,
  chat,
  completion,
  createRig,
  done,
  eventOf,
  type Got,
  jsonReply,
  type Rig,
  read,
  streamReply,
} from './test-rig.ts'

const choice = (delta: object, finish_reason: string | null = null, index = 0) => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'small',
  choices: [{ index, delta, finish_reason }],
})
const half = eventOf(choice({ role: 'assistant', content: 'half' }))
const end = eventOf(choice({}, 'stop'))

/** Asks twice and says who answered the second call. */
async function twice(rig: Rig, body: object): Promise<Got['source']> {
  await rig.ask(body).catch(() => {})
  rig.runner = async (call) => answerTo(call, completion('second'))
  return (await rig.ask(body)).source
}

// B05
describe('a stream that is not whole is never stored', () => {
  const cut = (parts: (string | Error)[]) => async () =>
    streamReply(
      (async function* () {
        for (const part of parts) {
          if (part instanceof Error) throw part
          yield part
        }
      })(),
    )
  test.each<[string, (string | Error)[]]>([
    ['the runner resets in the middle', [half, new Error('reset')]],
    ['the runner closes in the middle', [half]],
    ['[DONE] without a finish reason', [half, done]],
    ['an error in band, then [DONE]', [half, eventOf({ error: { message: 'busy' }, choices: [] }), done]],
    ['an error in band first', [eventOf({ id: 'x', choices: [], error: { code: 502, message: 'busy' } }), done]],
    ['one of two choices never finishes', [half, eventOf(choice({ content: 'b' }, null, 1)), end, done]],
    ['an event that is not JSON', [half, 'data: {\n\n', end, done]],
    ['nothing but [DONE]', [done]],
    ['the runner resets after the finish reason', [half, end, new Error('reset')]],
  ])('%s', async (_, parts) => {
    const rig = createRig()
    rig.runner = cut(parts)
    expect(await twice(rig, chat('hi', { stream: true }))).toBe('runner')
  })

  test('the caller leaves in the middle', async () => {
    const rig = createRig()
    rig.runner = cut([half, end, done])
    const reply = await rig.open(chat('hi', { stream: true }))
    const reading = reply.bytes()[Symbol.asyncIterator]()
    await reading.next()
    await reading.return?.()
    expect((await rig.ask(chat('hi', { stream: true }))).source).toBe('runner')
  })

  test('fewer choices than were asked for', async () => {
    expect(await twice(createRig(), chat('hi', { n: 2 }))).toBe('runner')
  })

  test('but the same stream whole is', async () => {
    const rig = createRig()
    rig.runner = cut([half, end, done])
    expect(await twice(rig, chat('hi', { stream: true }))).toBe('cache')
  })
})

describe('what else is not stored', () => {
  const finishing = (finish_reason: string | null) =>
    completion('x', { choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason }] })
  test.each([
    ['length', {}, 'runner'],
    ['content_filter', {}, 'runner'],
    ['abort', {}, 'runner'],
    [null, {}, 'runner'],
    ['tool_calls', {}, 'cache'],
    ['length', { finishReasons: ['stop', 'length'] }, 'cache'],
  ])('an answer that finished with %s under %j: the second comes from the %s', async (reason, config, source) => {
    const rig = createRig(config)
    rig.runner = async () => jsonReply(finishing(reason))
    expect(await twice(rig, chat('hi'))).toBe(source)
  })

  test.each([
    ['an error with 200', jsonReply({ error: { message: 'busy' }, choices: [] })],
    ['an error with 500', jsonReply({ error: { message: 'busy' } }, 500)],
    ['an error with 429', jsonReply({ error: { message: 'slow' } }, 429)],
    ['something else', jsonReply({ status: 'ok' })],
  ])('%s', async (_, reply) => {
    const rig = createRig()
    rig.runner = async () => reply
    expect(await twice(rig, chat('hi'))).toBe('runner')
  })

  test('an answer that is longer than is stored', async () => {
    const rig = createRig({ maxEntryBytes: 1024 })
    rig.runner = async (call) => answerTo(call, completion('x'.repeat(2000)))
    for (const stream of [false, true]) {
      const got = await rig.ask(chat('hi', { stream }))
      expect(got.source).toBe('runner')
      expect(got.text).toContain('x'.repeat(2000))
    }
    expect((await rig.ask(chat('hi'))).source).toBe('runner')
  })
})

// B07
describe('replay keeps everything', () => {
  const rich: Completion = completion('say', {
    system_fingerprint: 'fp',
    service_tier: 'default',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'say 北🙂',
          reasoning_content: 'think',
          refusal: null,
          tool_calls: [
            { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
            { id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } },
          ],
        },
        logprobs: { content: [{ token: 'say', logprob: -0.5, top_logprobs: [] }] },
        finish_reason: 'tool_calls',
      },
      { index: 1, message: { role: 'assistant', content: 'two' }, finish_reason: 'stop' },
    ],
    usage: { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13, prompt_tokens_details: { cached_tokens: 5 } },
  })
  const body = (stream: boolean) =>
    chat('hi', { n: 2, stream, ...(stream ? { stream_options: { include_usage: true } } : {}) })

  test.each([
    [false, false],
    [false, true],
    [true, false],
    [true, true],
  ])('stored from a stream: %s, fetched as a stream: %s', async (first, second) => {
    const rig = createRig()
    rig.runner = async (call) => answerTo(call, rich)
    await rig.ask(body(first))
    const got = await rig.ask(body(second))
    expect(got.source).toBe('cache')
    expect(wholeOf(got.text, second)).toEqual(rich)
  })

  test('usage is left out of a stream that did not ask for it, and is there for the next that does', async () => {
    const rig = createRig()
    await rig.ask(chat('hi', { stream: true }))
    expect((await rig.ask(chat('hi', { stream: true }))).text).not.toContain('prompt_tokens')
    expect((await rig.ask(chat('hi', { stream: true, stream_options: { include_usage: true } }))).text).toContain(
      'prompt_tokens',
    )
  })

  test('legacy completions and embeddings come back as they were', async () => {
    const rig = createRig()
    const text = { id: 'x', object: 'text_completion', choices: [{ index: 0, text: 'abc', finish_reason: 'stop' }] }
    const list = { object: 'list', data: [{ object: 'embedding', index: 0, embedding: [0.5, -1e-9] }], model: 'small' }
    for (const [route, ask, whole] of [
      ['completions', { prompt: 'a' }, text],
      ['embeddings', { input: 'a' }, list],
    ] as const) {
      rig.runner = async () => jsonReply(whole)
      await rig.ask({ model: 'small', ...ask }, { route })
      const got = await rig.ask({ model: 'small', ...ask }, { route })
      expect(got.source).toBe('cache')
      expect(JSON.parse(got.text)).toEqual(whole)
    }
  })

  // A01
  test('a character that straddles two reads, at every cut', async () => {
    const bytes = Buffer.from(eventOf(choice({ role: 'assistant', content: '北🙂' })) + end + done)
    for (let at = 1; at < bytes.length; at++) {
      const rig = createRig()
      rig.runner = async () => streamReply([bytes.subarray(0, at), bytes.subarray(at)])
      const live = await rig.ask(chat('hi', { stream: true, stream_options: { include_usage: true } }))
      expect(live.text).toBe(bytes.toString('utf8'))
      const whole = JSON.parse((await rig.ask(chat('hi'))).text) as Completion
      expect(whole.choices?.[0]?.message?.content).toBe('北🙂')
    }
  })

  // A19
  test('tool calls that arrive interleaved, or all under index 0 with ids of their own', async () => {
    const part = (index: number, id: string | undefined, args: string) =>
      choice({
        tool_calls: [
          {
            index,
            ...(id ? { id, type: 'function' } : {}),
            function: { ...(id ? { name: id } : {}), arguments: args },
          },
        ],
      })
    const interleaved = [part(0, 'a', '{'), part(1, 'b', '['), part(0, undefined, '}'), part(1, undefined, ']')]
    const sameIndex = [part(0, 'a', '{'), part(0, undefined, '}'), part(0, 'b', '['), part(0, undefined, ']')]
    for (const parts of [interleaved, sameIndex]) {
      const rig = createRig()
      rig.runner = async () => streamReply([...parts, choice({}, 'tool_calls')].map(eventOf).concat(done))
      await rig.ask(chat('hi', { stream: true }))
      const whole = JSON.parse((await rig.ask(chat('hi'))).text) as Completion
      expect(whole.choices?.[0]?.message?.tool_calls?.map((call) => [call.id, call.function?.arguments])).toEqual([
        ['a', '{}'],
        ['b', '[]'],
      ])
    }
  })
})

test('keeping an answer changes no byte of the stream that it is kept from', async () => {
  const rig = createRig()
  const parts = [
    `: beat\n\n${half}`,
    'data:{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}\r\n\r\n',
    done,
  ]
  rig.runner = async () => streamReply(parts)
  const live = await read(await rig.open(chat('hi', { stream: true })))
  expect(live.text.replaceAll(/^:.*\n+/gm, '')).toContain('"content":"x"')
  expect((await rig.ask(chat('hi'))).text).toContain('halfx')
})

function wholeOf(text: string, streamed: boolean): Completion {
  if (!streamed) return JSON.parse(text) as Completion
  const events = text.split('\n\n').filter((event) => event.startsWith('data: {'))
  return completionFromChunks(events.map((event) => JSON.parse(event.slice(6))))
}

test('the rig itself: chunks of a whole answer add up to it', () => {
  expect(completionFromChunks(chunksFromCompletion(completion(), true))).toEqual(completion())
})
