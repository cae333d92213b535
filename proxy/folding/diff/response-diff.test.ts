import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Completion, chunksFromCompletion } from '../../../plugins/chunks.ts'
import { doneText } from '../../../plugins/sse.ts'
import { completionBody } from '../../../test/support/chat-replies.ts'
import { type Answer, answerFromBytes, answerFromChunks } from './answer.ts'
import { normalisedPath } from './difference.ts'
import { bodyClass } from './field-class.ts'
import { diffAnswers, findingFromAnswers } from './response-diff.ts'

const call = (id: string, name: string, args: string) => ({ id, type: 'function', function: { name, arguments: args } })
const whole = {
  ...completionBody('It is 12 degrees.'),
  system_fingerprint: 'fp_1',
  choices: [
    { index: 0, message: { role: 'assistant', content: 'It is 12 degrees.', refusal: null }, finish_reason: 'stop' },
    {
      index: 1,
      message: { role: 'assistant', content: null, tool_calls: [call('call_a1', 'weather', '{"city":"Rome"}')] },
      finish_reason: 'tool_calls',
      logprobs: { content: [{ token: 'a', logprob: -0.5 }] },
    },
  ],
}
const answer = (body: unknown, more: Partial<Answer> = {}): Answer => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body,
  ...more,
})
const classes = (old: unknown, now: unknown) => diffAnswers(answer(old), answer(now)).map((each) => each.class)
const paths = (old: unknown, now: unknown) => diffAnswers(answer(old), answer(now)).map((each) => each.path)
const changed = (change: (copy: any) => void): unknown => {
  const copy = structuredClone(whole)
  change(copy)
  return copy
}

/** Every leaf of a value as the steps to it. */
function leaves(value: unknown, steps: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  if (value === null || typeof value !== 'object') return [steps]
  return Object.entries(value).flatMap(([key, each]) =>
    leaves(each, [...steps, Array.isArray(value) ? Number(key) : key]),
  )
}
function textOfSteps(steps: readonly (string | number)[]): string {
  return steps
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .slice(1)
}
function replaced(
  value: unknown,
  [step, ...rest]: readonly (string | number)[],
  change: (old: unknown) => unknown,
): unknown {
  if (step === undefined) return change(value)
  const copy: any = Array.isArray(value) ? [...value] : { ...(value as object) }
  copy[step] = replaced(copy[step], rest, change)
  return copy
}
const otherThan = (old: unknown): unknown => {
  if (typeof old === 'number') return old + 1
  return typeof old === 'string' ? `${old}x` : 'other'
}

describe('diffAnswers()', () => {
  it('finds nothing between equal answers, whatever they are', () => {
    const answers = fc.record({
      status: fc.integer({ min: 100, max: 599 }),
      headers: fc.dictionary(fc.string(), fc.string()),
      body: fc.oneof(fc.jsonValue(), fc.constant(whole)),
    })
    fc.assert(
      fc.property(answers, (one) => {
        expect(diffAnswers(one as Answer, structuredClone(one) as Answer)).toEqual([])
      }),
      { seed: 11 },
    )
  })

  it('finds a change of any single member that is held exactly, as hard', () => {
    const hard = leaves(whole).filter((steps) => bodyClass(normalisedPath(textOfSteps(steps))) === 'H')
    expect(hard.length).toBe(8)
    for (const steps of hard) {
      const found = diffAnswers(answer(whole), answer(replaced(whole, steps, otherThan)))
      const path = `body.${normalisedPath(textOfSteps(steps))}`
      expect(found.filter((each) => each.class === 'H').map((each) => each.path)).toContain(path)
    }
  })

  it('finds a member that is gone, or there for the first time, wherever clients look for it', () => {
    for (const steps of leaves(whole).filter((each) => bodyClass(normalisedPath(textOfSteps(each))) !== 'P')) {
      const found = classes(
        whole,
        replaced(whole, steps, () => undefined),
      )
      expect([textOfSteps(steps), found]).toEqual([textOfSteps(steps), expect.arrayContaining(['H'])])
      const back = diffAnswers(answer(replaced(whole, steps, () => undefined)), answer(whole))
      expect(back.some((each) => each.class === 'H' && each.kind === 'added')).toBe(true)
    }
  })

  it('holds a member that nobody knows exactly', () => {
    const member = fc.tuple(fc.stringMatching(/^[a-z]{3,12}$/), fc.jsonValue(), fc.jsonValue())
    fc.assert(
      fc.property(member, ([name, old, now]) => {
        fc.pre(bodyClass(name) === 'H' && JSON.stringify(old) !== JSON.stringify(now))
        const found = diffAnswers(answer({ [name]: old }), answer({ [name]: now }))
        expect(found.length).toBeGreaterThan(0)
        for (const each of found) expect(each.class).toBe('H')
      }),
      { seed: 12 },
    )
  })

  it('compares ids and instants by their form only', () => {
    const now = changed((copy) => {
      copy.id = 'chatcmpl-another'
      copy.created += 299
      copy.system_fingerprint = 'fp_2'
      copy.choices[1].message.tool_calls[0].id = 'call_zz'
      copy.choices[1].logprobs.content = [
        { token: 'b', logprob: -1.5 },
        { token: 'c', logprob: -2.5 },
      ]
    })
    expect(classes(whole, now)).toEqual([])
    expect(classes(whole, { ...whole, id: 'msg_1' })).toEqual(['P'])
    expect(classes(whole, { ...whole, created: 1_700_000_301 })).toEqual(['P'])
  })

  it('finds where texts part, and keeps no more of them than a few characters around', () => {
    const now = changed((copy) => {
      copy.choices[0].message.content = 'It is 13 degrees.'
    })
    const [text, ...more] = diffAnswers(answer(whole), answer(now))
    expect(more).toEqual([])
    expect(text).toMatchObject({ class: 'T', kind: 'text', path: 'body.choices[*].message.content' })
    expect(text?.divergence).toMatchObject({ at: 7, word: 2 })
    expect(text?.shown?.map(({ window }) => window)).toEqual(['It is 12 degrees.', 'It is 13 degrees.'])
  })

  it('keeps nothing of a key or an address that stands where texts part', () => {
    const text = (tail: string) =>
      completionBody(`send it to ${tail} and write to joe.bloggs@example.com now, ${'word '.repeat(50)}`)
    const found = diffAnswers(answer(text('sk-abcdef0123456789abcdef')), answer(text('sk-abcdef0123456789abcdee')))
    const kept = JSON.stringify(found)
    expect(kept).not.toMatch(/sk-|abcdef0|joe|example|word word word/)
  })

  it('takes white space at ends of lines and another normal form for the same text', () => {
    expect(classes(completionBody('caf\u00e9  \r\nok'), completionBody('cafe\u0301\nok\n'))).toEqual([])
  })

  it('tells structure from text', () => {
    const two = (old: string, now: string) =>
      diffAnswers(answer(completionBody(old)), answer(completionBody(now))).map(
        (each) => `${each.class} ${each.path?.split('.').at(-1)}`,
      )
    expect(two('{"a":1}', '{"a":2}')).toEqual(['T content'])
    expect(two('{"a":1}', '{"b":1}')).toEqual(['T content', 'S json'])
    expect(two('```ts\nx\n```', '```js\nx\n```')).toEqual(['T content', 'S fences'])
    expect(two('- a\n- b', 'a and b')).toEqual(['T content', 'S skeleton'])
    expect(two('good day', '你好')).toEqual(['T content', 'S script'])
  })

  it('compares arguments of tools as the JSON they are', () => {
    const withArguments = (text: string) =>
      changed((copy) => {
        copy.choices[1].message.tool_calls[0].function.arguments = text
      })
    expect(classes(whole, withArguments('{ "city": "Rome" }'))).toEqual([])
    expect(classes(whole, withArguments('{"city":"Oslo"}'))).toEqual(['T'])
    expect(classes(whole, withArguments('{"town":"Rome"}'))).toEqual(['S'])
    expect(classes(whole, withArguments('{"city":'))).toEqual(expect.arrayContaining(['H']))
  })

  it('takes names and numbers of tool calls and reasons to finish for structure', () => {
    expect(
      paths(
        whole,
        changed((copy) => {
          copy.choices[1].message.tool_calls.push(call('call_b', 'weather', '{}'))
        }),
      ),
    ).toEqual(['body.choices[*].message.tool_calls'])
    expect(
      classes(
        whole,
        changed((copy) => {
          copy.choices[1].message.tool_calls[0].function.name = 'forecast'
          copy.choices[0].finish_reason = 'length'
        }),
      ),
    ).toEqual(['S', 'S'])
    expect(
      classes(
        whole,
        changed((copy) => {
          copy.choices[0].message.refusal = 'I will not'
        }),
      ),
    ).toEqual(['S'])
  })

  it('finds a status, an error code and a kind of body', () => {
    const found = diffAnswers(
      answer({ error: { code: 'a', message: 'x' } }, { status: 400 }),
      answer({ error: { code: 'b', message: 'y' } }, { status: 429 }),
    )
    expect(found.map(({ class: of, path }) => [of, path])).toEqual([
      ['H', 'status'],
      ['T', 'body.error.message'],
      ['H', 'body.error.code'],
    ])
    expect(found[0]?.codes).toEqual(['400', '429'])
    expect(paths('<html>', whole)).toEqual(['body'])
  })

  it('finds a sum that is wrong only where the old answer had it right', () => {
    const wrong = changed((copy) => {
      copy.usage.total_tokens = 99
    })
    expect(diffAnswers(answer(whole), answer(wrong))).toMatchObject([
      { class: 'N' },
      { class: 'H', kind: 'inconsistent', path: 'body.usage.total_tokens', kinds: ['', 'total-is-sum'] },
    ])
    expect(classes(wrong, wrong)).toEqual([])
    expect(
      classes(
        whole,
        changed((copy) => {
          copy.usage.completion_tokens = 5
          copy.usage.total_tokens = 12
        }),
      ),
    ).toEqual(['N', 'N'])
  })

  it('holds tools, schemas and usage against what was asked', () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
    const request = { model: 'm', tools: [{ type: 'function', function: { name: 'weather', parameters } }] }
    const rules = (body: unknown, more = {}) =>
      diffAnswers(answer(whole), answer(body), { request, ...more })
        .filter(({ kind }) => kind === 'inconsistent')
        .map(({ kinds }) => kinds[1])
    const named = (name: string, args: string) =>
      changed((copy) => {
        copy.choices[1].message.tool_calls[0].function = { name, arguments: args }
      })
    expect(rules(whole)).toEqual([])
    expect(rules(named('weathre', '{"city":"Rome"}'))).toEqual(['tool-declared'])
    expect(rules(named('weather', '{"town":"Rome"}'))).toEqual(['arguments-valid'])
    expect(rules(named('weather', '{"city"'))).toEqual(['arguments-parse'])
    expect(rules({ ...whole, usage: undefined })).toEqual(['usage-as-asked'])
    expect(
      rules(
        changed((copy) => {
          copy.choices[1].index = 2
        }),
      ),
    ).toEqual(['choices-contiguous'])
    const json = { model: 'm', response_format: { type: 'json_schema', json_schema: { schema: parameters } } }
    const good = answer(completionBody('{"city":"Rome"}'))
    const bad = diffAnswers(good, answer(completionBody('{"town":"Rome"}')), { request: json })
    expect(bad.filter(({ kind }) => kind === 'inconsistent')).toMatchObject([{ kinds: ['', 'schema-valid'] }])
    const counted = diffAnswers(answer({}), good, { countTokens: () => 9 }).filter(
      ({ kind }) => kind === 'inconsistent',
    )
    expect(counted).toMatchObject([{ kinds: ['', 'tokens-of-content'] }])
  })

  it('holds headers by their own rules', () => {
    const found = (old: Answer['headers'], now: Answer['headers'], inFlight = 0) =>
      diffAnswers(answer(1, { headers: old }), answer(1, { headers: now }), { inFlight }).map(
        ({ class: of, path }) => `${of} ${path}`,
      )
    expect(
      found({ 'content-type': 'text/event-stream; charset=utf-8' }, { 'content-type': 'Text/Event-Stream' }),
    ).toEqual([])
    expect(found({ 'retry-after': '3' }, { 'retry-after': '4' })).toEqual([])
    expect(found({ 'retry-after': '3' }, { 'retry-after': '5' })).toEqual(['H headers.retry-after'])
    expect(found({ 'x-ratelimit-reset-tokens': '6m0s' }, { 'x-ratelimit-reset-tokens': '361' })).toEqual([])
    expect(found({ 'x-ratelimit-limit-tokens': '10' }, { 'x-ratelimit-limit-tokens': '11' })).toEqual([
      'H headers.x-ratelimit-limit-tokens',
    ])
    const remaining = (left: string) => ({ 'x-ratelimit-remaining-requests': left })
    expect(found(remaining('10'), remaining('8'), 2)).toEqual([])
    expect(found(remaining('10'), remaining('7'), 2)).toEqual(['H headers.x-ratelimit-remaining-requests'])
    expect(
      found({ date: 'x', via: 'a', 'x-request-id': '1' }, { date: 'y', 'x-request-id': '2', 'cf-ray': 'z' }),
    ).toEqual([])
    expect(found({ date: 'x' }, {})).toEqual(['P headers.date'])
    expect(found({}, { 'x-team-thing': 'secret' })).toEqual(['H headers.x-team-thing'])
    expect(found({}, { 'x-layer-status': 'auth=active', 'x-gateway-overhead': '3' })).toEqual([])
  })

  it('puts the hardest difference of a finding first', () => {
    const now = changed((copy) => {
      copy.choices[0].message.content = 'Other words.'
      copy.usage.completion_tokens++
      copy.usage.total_tokens++
      copy.model = 'other'
    })
    const finding = findingFromAnswers(answer(whole), answer(now))
    expect(finding).toMatchObject({
      verdict: 'differs',
      differences: [{ class: 'H', path: 'body.model' }, { class: 'T' }, { class: 'N' }, { class: 'N' }],
    })
  })

  it('never throws, whatever two answers are', () => {
    const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
    const body = fc.oneof(
      fc.jsonValue(),
      fc.record({ choices: fc.jsonValue(), usage: fc.jsonValue(), error: fc.jsonValue() }),
      fc.record({
        choices: fc.array(fc.record({ index: fc.jsonValue(), message: fc.jsonValue(), logprobs: fc.jsonValue() })),
      }),
      fc.record({
        choices: fc.array(
          fc.record({
            message: fc.record({ content: fc.constantFrom(deep(20_000), deep(30_000)), tool_calls: fc.jsonValue() }),
          }),
        ),
      }),
    )
    fc.assert(
      fc.property(body, body, (one, two) => {
        expect(diffAnswers(answer(one), answer(two), { request: { model: 'm' } }).length).toBeLessThan(1_000)
      }),
      { seed: 13 },
    )
    const args = (levels: number) =>
      changed((copy) => {
        copy.choices[1].message.tool_calls[0].function.arguments = deep(levels)
      })
    expect(classes(args(20_000), args(30_000)).length).toBeGreaterThan(0)
  })

  it('takes little time for texts of nothing but blanks', () => {
    const blanks = ' '.repeat(300_000)
    const start = performance.now()
    expect(classes(completionBody(`a${blanks}b`), completionBody(`a${blanks}c`))).toEqual(['T'])
    expect(performance.now() - start).toBeLessThan(2_000)
  })

  it('lists no more than so many differences, however long the lists are', () => {
    const list = (of: number) => ({ data: Array.from({ length: 5_000 }, (_, at) => at * of) })
    expect(diffAnswers(answer(list(1)), answer(list(3))).length).toBeLessThanOrEqual(201)
  })
})

describe('an answer', () => {
  const bytes = (text: string, type: string) =>
    answerFromBytes({ status: 200, headers: { 'content-type': type }, body: Buffer.from(text) })

  it('is the same streamed and whole, wherever the stream was cut', () => {
    const chunks = chunksFromCompletion(whole as unknown as Completion, true)
    const streamed = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('') + doneText
    const { headers } = answer(whole)
    const together = { ...bytes(streamed, 'text/event-stream'), headers }
    expect(diffAnswers(answer(whole), together)).toEqual([])
    expect(diffAnswers(answer(whole), answerFromChunks(chunks, { status: 200, headers }))).toEqual([])
  })

  it('puts a stream of messages together', () => {
    const events = [
      {
        type: 'message_start',
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          usage: { input_tokens: 3, output_tokens: 1 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hel' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'lo' } },
      { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 't', name: 'f', input: {} } },
      { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"a"' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: ':1}' } },
      { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 9 } },
      { type: 'message_stop' },
    ]
    const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
    expect(bytes(text, 'text/event-stream').body).toEqual({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [
        { type: 'text', text: 'Hello' },
        { type: 'tool_use', id: 't', name: 'f', input: { a: 1 } },
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: { input_tokens: 3, output_tokens: 9 },
    })
  })

  it('is its text where it cannot be read', () => {
    expect(bytes('<html>', 'text/html').body).toBe('<html>')
    expect(bytes('data: nonsense\n\n', 'text/event-stream').body).toBe('data: nonsense\n\n')
  })
})
