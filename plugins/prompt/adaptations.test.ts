import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ChatRequest, Chunk, ChunkChoice } from '../chat.ts'
import { completionFromChunks } from '../chunks.ts'
import { type Reply, replyFromBytes } from '../reply.ts'
import { anchorLines } from './anchor.ts'
import { recapFacts } from './recap.ts'
import { stepsAsked, textFromSteps } from './steps.ts'
import { createStepsTransform } from './steps-reply.ts'
import { answered, ask, openRig } from './test-rig.ts'

const plan = { language: 'en', count: undefined, numbering: 'list' } as const
const contentOf = async (reply: Reply): Promise<unknown> =>
  (await reply.collect()).completion.choices?.[0]?.message?.content

describe('steps', () => {
  const config = { enabled: true, words: ['action plan'], numbering: 'list' } as const
  const asked = (content: string, more: Partial<ChatRequest> = {}) =>
    stepsAsked({ model: 'm', messages: [{ role: 'user', content }], ...more }, config)
  test.each([
    ['How do I boil an egg, step by step?', 'en', undefined],
    ['Explain in 4 easy steps how to boil an egg', 'en', 4],
    ['Describe it in three steps', 'en', 3],
    ['Give me an Action Plan', 'en', undefined],
    ['请分五步说明如何煮蛋', 'zh', 5],
    ['用3个步骤说明', 'zh', 3],
    ['怎么做？请逐步说明', 'zh', undefined],
    ['第一步做什么？', 'zh', undefined],
  ])('%s asks for steps', (text, language, count) => {
    expect(asked(text)).toEqual({ language, count, numbering: 'list' })
  })
  test.each(['What is a footstep?', 'He took two steps back', '你好', 'Tell me a story'])('%s does not', (text) => {
    expect(asked(text)).toBeUndefined()
  })
  test('a caller who asked for a form or brought tools is left alone', () => {
    expect(asked('step by step', { response_format: { type: 'json_object' } })).toBeUndefined()
    expect(asked('step by step', { tools: [{ type: 'function', function: { name: 'f' } }] })).toBeUndefined()
  })
  test('numbers that the model wrote itself are not doubled', () => {
    const json = (steps: string[]) => JSON.stringify({ intro: 'So:', steps, outro: '' })
    expect(textFromSteps(json(['1. Boil', 'Step 2: Wait', '3) Eat', '1.5 litres']), plan)).toBe(
      'So:\n\n1. Boil\n2. Wait\n3. Eat\n4. 1.5 litres',
    )
    expect(textFromSteps(json(['第一步：煮', '2、等']), { ...plan, language: 'zh', numbering: 'words' })).toBe(
      'So:\n\n第1步：煮\n第2步：等',
    )
  })
  test('what is no such object stays as it is', () => {
    for (const text of ['', 'plain', '{"steps":[]}', '{"steps":[1]}', 'null', '[]', '{"steps":"x"}']) {
      expect(textFromSteps(text, plan)).toBeUndefined()
    }
  })

  const answer = '{"intro":"","steps":["Boil 水","Wait"],"outro":"Enjoy"}'
  const wanted = '1. Boil 水\n2. Wait\n\nEnjoy'
  test('over the layer: a schema goes in, numbered text comes out, streamed or not', async () => {
    const rig = await openRig({ adaptations: { steps: { enabled: true } } })
    for (const streamed of [false, true]) {
      const call = ask({ stream: streamed, messages: [{ role: 'user', content: 'Boil an egg in 2 steps' }] })
      const { sent, reply } = await rig.run(call, () => answered(answer, { streamed }))
      expect(sent[0]?.response_format).toMatchObject({
        type: 'json_schema',
        json_schema: { schema: { properties: { steps: { minItems: 2, maxItems: 2 } } } },
      })
      expect(await contentOf(reply)).toBe(wanted)
    }
  })
  test('off by default', async () => {
    const rig = await openRig({})
    const { sent } = await rig.run(ask({ messages: [{ role: 'user', content: 'step by step please' }] }))
    expect(sent[0]?.response_format).toBeUndefined()
  })
  test('any cut of a stream gives the same text, the role first and the finish last', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 60 }), (cuts) => {
        const transform = createStepsTransform(plan)
        const chunk = (delta: ChunkChoice['delta'] & object, finish_reason: string | null = null): Chunk => ({
          id: 'x',
          choices: [{ index: 0, delta, finish_reason }],
        })
        const chunks = [chunk({ role: 'assistant', content: '' })]
        let at = 0
        for (const cut of cuts) {
          if (at < answer.length) chunks.push(chunk({ content: answer.slice(at, at + cut) }))
          at += cut
        }
        chunks.push(chunk({}, 'stop'), {
          id: 'x',
          choices: [],
          usage: { total_tokens: 3 },
        })
        const out = [...chunks.flatMap((each) => transform.push(each) ?? []), ...(transform.end?.() ?? [])]
        expect(completionFromChunks(out)).toMatchObject({
          choices: [{ message: { content: wanted }, finish_reason: 'stop' }],
          usage: { total_tokens: 3 },
        })
        expect(out[0]?.choices?.[0]?.delta?.role).toBe('assistant')
        expect(out).toHaveLength(4)
      }),
      { seed: 4, numRuns: 50 },
    )
  })
  test('an answer that was cut off goes out as it came, and choices do not mix', () => {
    const transform = createStepsTransform(plan)
    const both = {
      choices: [
        { index: 0, delta: { content: '{"st' } },
        { index: 1, delta: { content: answer } },
      ],
    }
    expect(transform.push(both)).toEqual([])
    const finish = {
      choices: [
        { index: 1, delta: {}, finish_reason: 'stop' },
        { index: 0, delta: {}, finish_reason: 'length' },
      ],
    }
    const whole = completionFromChunks([transform.push(finish) as Chunk[], transform.end?.() ?? []].flat())
    expect(whole.choices?.map((each) => each.message?.content)).toEqual(['{"st', wanted])
  })
})

describe('two-phase tools', () => {
  const tool = (name: string) => ({ type: 'function', function: { name, description: `does ${name}`, parameters: {} } })
  const body = { tools: [tool('weather'), tool('search')], max_tokens: 500, stream: true }
  const config = { adaptations: { 'two-phase-tools': { enabled: true } } }
  const play = async (naming: () => Reply, change: object = {}) => {
    const rig = await openRig(config)
    return rig.run(ask({ ...body, ...change }), (request) =>
      request.response_format ? naming() : answered('called', { streamed: true }),
    )
  }
  test('the tool is named among those offered, then called', async () => {
    const { sent, reply } = await play(() => answered('{"tool": "search"}'))
    expect(sent).toHaveLength(2)
    expect(sent[0]).toMatchObject({ stream: false, max_tokens: 64 })
    expect(sent[0]?.tools).toBeUndefined()
    expect(sent[0]?.response_format).toMatchObject({
      json_schema: { schema: { properties: { tool: { enum: ['weather', 'search', 'none'] } } } },
    })
    expect(sent[1]).toMatchObject({ ...body, tool_choice: { type: 'function', function: { name: 'search' } } })
    const { completion } = await reply.collect()
    expect(completion.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 })
  })
  test('none means none, unless a tool is required', async () => {
    expect((await play(() => answered('{"tool":"none"}'))).sent[1]?.tool_choice).toBe('none')
    const required = await play(() => answered('{"tool":"none"}'), { tool_choice: 'required' })
    expect(required.sent[1]?.tool_choice).toBe('required')
    expect(JSON.stringify(required.sent[0]?.response_format)).not.toContain('none')
  })
  test('an answer that names nothing leaves the choice to the model', async () => {
    for (const said of ['I would search', '{"tool":"rm"}', '{"tool":"\\u"}']) {
      expect((await play(() => answered(said))).sent[1]?.tool_choice).toBeUndefined()
    }
  })
  test('a runner that refuses the schema is asked in one go; one that is down is not asked again', async () => {
    const failing = (status: number) => () => {
      const bytes = (async function* () {
        yield Buffer.from('{"error":{"message":"no"}}')
      })()
      return replyFromBytes({ status, streamed: false, source: 'runner' }, 'json', bytes)
    }
    const refused = await play(failing(400))
    expect(refused.sent[1]).toMatchObject(body)
    expect(await contentOf(refused.reply)).toBe('called')
    expect((await play(failing(503))).reply.status).toBe(503)
  })
  test('a caller who chose a tool, or has one only, is left alone', async () => {
    const rig = await openRig(config)
    for (const change of [
      { tool_choice: 'none' },
      { tools: [tool('weather')] },
      { tool_choice: { type: 'function' } },
    ]) {
      expect((await rig.run(ask({ ...body, ...change }))).sent).toHaveLength(1)
    }
  })
  test('a conversation that holds tool calls keeps its tools in the first question', async () => {
    const messages = [
      { role: 'user', content: 'q' },
      { role: 'assistant', content: null, tool_calls: [{ id: '1', function: { name: 'weather' } }] },
      { role: 'tool', tool_call_id: '1', content: 'sun' },
    ]
    const { sent } = await play(() => answered('{"tool":"none"}'), { messages })
    expect(sent[0]).toMatchObject({ tools: body.tools, tool_choice: 'none' })
  })
})

describe('anchor and recap', () => {
  const rules =
    'You are a bank clerk. The bank was founded in 1890. Never give investment advice. It has blue walls.\n- Always answer in German.\n'
  const anchor = { enabled: true, minChars: 100, maxLines: 3, maxLineChars: 40, place: 'last', keep: true } as const
  test('a long system prompt becomes the lines that order most, in their order', () => {
    expect(anchorLines(rules, anchor)).toEqual([
      'You are a bank clerk.',
      'Never give investment advice.',
      'Always answer in German.',
    ])
    expect(anchorLines('你是客服。今天下雨。不要谈论价格。', { ...anchor, maxLines: 2 })).toEqual([
      '你是客服。',
      '不要谈论价格。',
    ])
  })
  test('lines stand before the last user message, or in place of the instructions', async () => {
    const messages = [
      { role: 'system', content: rules },
      { role: 'user', content: 'hi' },
    ]
    const contents = async (more: object) => {
      const rig = await openRig({ adaptations: { anchor: { ...anchor, ...more } } })
      return (await rig.messages(ask({ messages })))?.map((each) => each.content)
    }
    const lines = '- You are a bank clerk.\n- Never give investment advice.\n- Always answer in German.'
    expect(await contents({})).toEqual([rules, `Keep to this:\n${lines}\n\nhi`])
    expect(await contents({ place: 'first', keep: false })).toEqual([lines, 'hi'])
    expect(await contents({ place: 'first' })).toEqual([`${lines}\n\n${rules}`, 'hi'])
    expect(await contents({ minChars: 10_000 })).toEqual([rules, 'hi'])
  })
  test('facts of the last turns are repeated, what users say first, questions never', async () => {
    const messages = [
      { role: 'user', content: 'My order number is 4711. Can you help me with order 4711?' },
      { role: 'assistant', content: 'Sure. It left on May 3.' },
      { role: 'user', content: 'When will it arrive?' },
    ]
    const recap = { enabled: true, turns: 3, maxFacts: 2, maxFactChars: 160 }
    expect(recapFacts(messages, recap)).toEqual(['My order number is 4711.', 'It left on May 3.'])
    const rig = await openRig({ adaptations: { recap } })
    expect((await rig.messages(ask({ messages })))?.[2]?.content).toBe(
      'Said before:\n- My order number is 4711.\n- It left on May 3.\n\nWhen will it arrive?',
    )
    expect(await rig.messages(ask())).toEqual([{ role: 'user', content: 'hello' }])
  })
})
