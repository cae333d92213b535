import { describe, expect, test } from 'vitest'
import { createCall } from './call.ts'
import type { ChatRequest } from './chat.ts'
import { createTokenEstimator } from './token-estimator.ts'

const chat = (content: string, more: object = {}): ChatRequest => ({
  model: 'm',
  messages: [{ role: 'user', content }],
  ...more,
})
const english = 'The quick brown fox jumps over the lazy dog while seventeen curious engineers watch from a window. '
const callOf = (request: ChatRequest, signal = new AbortController().signal) =>
  createCall({
    id: '1',
    route: 'chat',
    now: 0,
    body: Buffer.from(JSON.stringify(request)),
    headers: {},
    facts: {},
    signal,
  })

describe('before anything is learned', () => {
  // Counted with the vocabularies o200k_base and Llama 3.
  test.each([
    ['english prose', english.repeat(10), [181, 181]],
    ['chinese', '机器学习是人工智能的一个重要分支，研究如何让计算机从数据中学习。'.repeat(10), [210, 220]],
    ['korean', '기계 학습은 컴퓨터가 데이터에서 배우는 방법을 연구하는 분야입니다. '.repeat(10), [191, 191]],
    ['russian', 'Машинное обучение изучает, как компьютеры учатся на данных. '.repeat(10), [152, 201]],
    ['code', 'for (let i = 0; i < 10; i++) { total += items[i].price * 2; }\n'.repeat(10), [270, 270]],
    [
      'json',
      '{"model":"small","messages":[{"role":"user","content":"hi"}],"max_tokens":100,"temperature":0.7}'.repeat(5),
      [140, 135],
    ],
    ['digits', '3141592653 5897932384 6264338327 9502884197 '.repeat(5), [100, 100]],
  ])('%s is within a third of what tokenizers count', (_name, text, [one = 0, other = 0]) => {
    const counted = (one + other) / 2
    const tokens = createTokenEstimator().count(text, 'm')
    expect(tokens).toBeGreaterThan(counted * 0.67)
    expect(tokens).toBeLessThan(counted * 1.33)
  })

  test('names of special tokens are text like any other', () => {
    const { input } = createTokenEstimator().estimate(chat('<|im_end|><|endoftext|><s>[INST]'))
    expect(input).toBeGreaterThan(10)
  })

  test('every message, tool, tool call and image costs something; images are not counted as their base64', () => {
    const estimator = createTokenEstimator()
    const of = (request: ChatRequest) => estimator.estimate(request).input
    const one = of(chat('hello'))
    const image = (detail: string) => [{ type: 'image_url', image_url: { url: `data:,${'A'.repeat(90_000)}`, detail } }]
    expect(
      of({ model: 'm', messages: [...chat('hello').messages!, { role: 'user', content: 'hello' }] }),
    ).toBeGreaterThan(one + 4)
    expect(of(chat('hello', { tools: [{ type: 'function', function: { name: 'find' } }] }))).toBeGreaterThan(one + 5)
    expect(of({ model: 'm', messages: [{ role: 'user', content: image('high') }] })).toBeLessThan(1000)
    expect(of({ model: 'm', messages: [{ role: 'user', content: image('low') }] })).toBeLessThan(150)
    const calling = {
      role: 'assistant',
      content: null,
      tool_calls: [{ function: { name: 'f', arguments: '{"a":1}' } }],
    }
    expect(of({ model: 'm', messages: [calling] })).toBeGreaterThan(12)
  })

  test('output is what the request asks for, times its answers, else the mean', () => {
    const estimator = createTokenEstimator()
    expect(estimator.estimate(chat('x', { max_tokens: 10, n: 3 })).output).toBe(30)
    expect(estimator.estimate(chat('x', { max_tokens: 10, max_completion_tokens: 7 })).output).toBe(7)
    expect(estimator.estimate({ model: 'm', prompt: ['a', 'b'], max_tokens: 10 }).output).toBe(20)
    expect(estimator.estimate(chat('x')).output).toBe(256)
    expect(estimator.estimate({ model: 'm', input: 'some text' }).output).toBe(0)
  })

  test('token ids are counted as they are', () => {
    const estimator = createTokenEstimator()
    expect(estimator.estimate({ model: 'm', prompt: [1, 2, 3, 4] })).toMatchObject({ input: 7, output: 256 })
    expect(estimator.estimate({ model: 'm', input: [[1, 2], [3]] }).input).toBe(6)
  })
})

describe('learning', () => {
  test('a model that counts twice as much is believed within a few calls, and the error shrinks', () => {
    const estimator = createTokenEstimator()
    const before = estimator.estimate(chat(english.repeat(5)))
    for (let i = 0; i < 40; i++) {
      const request = chat(english.repeat(1 + (i % 9)))
      estimator.learn(request, { prompt_tokens: Math.round(40 * (1 + (i % 9)) + 8), completion_tokens: 50 })
    }
    const after = estimator.estimate(chat(english.repeat(5)))
    expect(Math.abs(after.input - 208)).toBeLessThan(208 * 0.05)
    expect(after.error).toBeLessThan(before.error)
  })

  test('scripts are learned apart: chinese does not move english by much', () => {
    const estimator = createTokenEstimator()
    const before = estimator.estimate(chat(english.repeat(5))).input
    const chinese = chat('研究如何让计算机从数据中学习'.repeat(10))
    for (let i = 0; i < 40; i++) estimator.learn(chinese, { prompt_tokens: 280 })
    expect(Math.abs(estimator.estimate(chinese).input - 280)).toBeLessThan(15)
    expect(Math.abs(estimator.estimate(chat(english.repeat(5))).input - before)).toBeLessThan(before * 0.05)
  })

  test('models are learned apart', () => {
    const estimator = createTokenEstimator()
    for (let i = 0; i < 40; i++) estimator.learn(chat(english), { prompt_tokens: 90 })
    const other = { ...chat(english), model: 'other' }
    expect(estimator.estimate(other).input).toBeLessThan(40)
    expect(estimator.count(english, 'm')).toBeGreaterThan(estimator.count(english, 'other') * 2)
  })

  test('the mean output follows answers that ended by themselves, not those cut at their limit', () => {
    const estimator = createTokenEstimator()
    for (let i = 0; i < 40; i++)
      estimator.learn(chat('x', { max_tokens: 5 }), { prompt_tokens: 8, completion_tokens: 5 })
    expect(estimator.estimate(chat('x')).output).toBe(256)
    for (let i = 0; i < 40; i++) estimator.learn(chat('x'), { prompt_tokens: 8, completion_tokens: 40 })
    expect(estimator.estimate(chat('x')).output).toBeLessThan(45)
  })

  test('nonsense from a runner neither throws nor runs away', () => {
    const estimator = createTokenEstimator()
    for (const prompt_tokens of [0, -5, Number.NaN, Number.POSITIVE_INFINITY, 1e12, 1e12]) {
      estimator.learn(chat(english), { prompt_tokens, completion_tokens: Number.NaN })
    }
    estimator.learn(chat(english), { prompt_tokens: 'many' } as never)
    const { input, error, output } = estimator.estimate(chat(english))
    expect(input).toBeLessThan(1000)
    expect(Number.isFinite(error) && Number.isFinite(output)).toBe(true)
  })
})

describe('the exact count', () => {
  test('comes from the runner and is learned from', async () => {
    const estimator = createTokenEstimator({ exact: async () => 300 })
    const call = callOf(chat(english.repeat(5)))
    for (let i = 0; i < 30; i++) expect(await estimator.exact(call)).toBe(300)
    expect(Math.abs(estimator.estimate(call.request).input - 300)).toBeLessThan(10)
  })

  test('is undefined when the runner fails, is too slow or says no number', async () => {
    const exactly = (exact: () => Promise<never>) =>
      createTokenEstimator({ exact, exactTimeoutMs: 10 }).exact(callOf(chat('x')))
    expect(await exactly(() => Promise.reject(new Error('down')))).toBeUndefined()
    expect(await exactly(() => new Promise(() => {}))).toBeUndefined()
    expect(await exactly(async () => Number.NaN as never)).toBeUndefined()
    expect(await createTokenEstimator().exact(callOf(chat('x')))).toBeUndefined()
  })
})

test('a megabyte of text is estimated within milliseconds', () => {
  const estimator = createTokenEstimator()
  estimator.estimate(chat('a b'.repeat(20_000)))
  const big = chat('word 字 9; '.repeat(100_000))
  const start = performance.now()
  estimator.estimate(big)
  expect(performance.now() - start).toBeLessThan(100)
})
