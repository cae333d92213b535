import { describe, expect, test } from 'vitest'
import { createGate } from '../../test/support/gate.ts'
import { gatewayError } from '../errors.ts'
import type { CacheConfig } from './config.ts'
import { answerTo, chat, completion, createRig, jsonReply, type Rig } from './test-rig.ts'

const url = 'http://scorer/score'
const scoring = (more: object = {}): Partial<CacheConfig> => ({
  output_validation: { quality_score: { min: 0.5, scorer: { url }, ...more } },
})

/** Scores an answer by the number it says. */
function scoreByText(rig: Rig): void {
  rig.host.answers.set(url, ({ body = '' }) => {
    const score = Number(JSON.parse(body).completion.choices[0].message.content)
    return { body: Buffer.from(JSON.stringify({ score })) }
  })
}

/** Says these texts, one a call. */
function saying(rig: Rig, ...texts: string[]): void {
  rig.runner = async (call) => answerTo(call, completion(texts[rig.reached.length - 1] ?? '0'))
}

describe('output validation', () => {
  test.each([
    ['{"a":1}', 'cache'],
    ['{"a":"x"}', 'runner'],
    ['not json', 'runner'],
  ])('with a schema, %s is given; the second call is answered by the %s', async (content, source) => {
    const json_schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: 'one',
      type: 'object',
      properties: { a: { type: 'number' } },
    }
    for (const stream of [false, true]) {
      const rig = createRig({ output_validation: { json_schema } })
      rig.runner = async (call) => answerTo(call, completion(content))
      expect((await rig.ask(chat('hi', { stream }))).source).toBe('runner')
      expect((await rig.ask(chat('hi', { stream }))).source).toBe(source)
    }
  })

  test('a schema that is wrong is a fault of the configuration', () => {
    const open = () => createRig({ output_validation: { json_schema: { type: 'nonsense' } } })
    expect(open).toThrow(/output_validation.json_schema: is not a schema/)
    expect(() => createRig({ output_validation: { json_schema: { $ref: 'http://127.0.0.1/x' } } })).toThrow(/schema/)
  })

  test('only an answer that scores enough is stored; the caller is not kept waiting for the score', async () => {
    const rig = createRig(scoring())
    scoreByText(rig)
    saying(rig, '0.4', '0.5')
    expect((await rig.ask(chat('hi'))).text).toContain('0.4')
    expect((await rig.ask(chat('hi'))).source).toBe('runner')
    expect((await rig.ask(chat('hi'))).source).toBe('cache')
    expect(JSON.parse(rig.host.sent[0]?.request.body ?? '')).toMatchObject({ request: chat('hi') })
  })

  test('those who wait for an answer wait for its score too, also when its caller is long served', async () => {
    const rig = createRig(scoring())
    const gate = createGate()
    rig.host.answers.set(url, async () => {
      await gate.opened
      return { body: Buffer.from('{"score":1}') }
    })
    expect((await rig.ask(chat('hi'))).source).toBe('runner')
    const waiting = rig.ask(chat('hi'))
    gate.open()
    expect((await waiting).source).toBe('cache')
    expect(rig.reached).toHaveLength(1)
  })

  test.each([
    ['a scorer that is away', undefined],
    ['a score that is none', { body: Buffer.from('{"score":"high"}') }],
    ['a scorer that fails', { status: 500, body: Buffer.from('{"score":1}') }],
    ['a scorer that says nonsense', { body: Buffer.from('<') }],
  ])('%s stores nothing and harms no call', async (_, answer) => {
    const rig = createRig(scoring())
    if (answer) rig.host.answers.set(url, () => answer)
    await rig.ask(chat('hi'))
    expect((await rig.ask(chat('hi'))).source).toBe('runner')
    expect(rig.host.lines.some((line) => line.level === 'warn')).toBe(true)
  })

  test('a judge on a runner scores too, and one that is not configured is a fault', async () => {
    const asked: unknown[] = []
    const runners = {
      names: ['j'],
      state: () => ({ available: true, retryAfterMs: 0, outstandingTokens: 0 }),
      ask: async (question: unknown) => {
        asked.push(question)
        return ' 0.9\n'
      },
    }
    const config = (runner: string) => scoring({ scorer: { runner, model: 'm' } })
    const rig = createRig(config('j'), { runners })
    await rig.ask(chat('hi'))
    expect((await rig.ask(chat('hi'))).source).toBe('cache')
    expect(asked).toHaveLength(1)
    expect(() => createRig(config('other'), { runners })).toThrow(/scorer.runner: is not one of the runners/)
  })
})

describe('a poor answer, where a retry is configured', () => {
  const retrying = () => {
    const rig = createRig(scoring({ retryLargest: true }))
    scoreByText(rig)
    return rig
  }

  test.each([false, true])(
    'is asked for once more on the largest target, and the better one is given and kept (stream: %s)',
    async (stream) => {
      const rig = retrying()
      saying(rig, '0.1', '0.8')
      expect((await rig.ask(chat('hi', { stream }))).text).toContain('0.8')
      expect(rig.reached.map((call) => call.facts.largest)).toEqual([undefined, true])
      expect((await rig.ask(chat('hi', { stream }))).text).toContain('0.8')
      expect(rig.reached).toHaveLength(2)
    },
  )

  test('is given all the same when the second is worse, fails or cannot be had', async () => {
    for (const second of ['worse', 'fails', 'refused']) {
      const rig = retrying()
      rig.runner = async (call) => {
        if (rig.reached.length === 1) return answerTo(call, completion('0.3'))
        if (second === 'fails') return jsonReply({ error: {} }, 500)
        if (second === 'refused') throw gatewayError('no_capacity', 'no')
        return answerTo(call, completion('0.2'))
      }
      expect((await rig.ask(chat('hi'))).text).toContain('0.3')
      expect(rig.reached).toHaveLength(2)
      expect(rig.host.counts.get('cache.stored')).toBeUndefined()
    }
  })

  test('a good answer, and one that cannot be scored, is asked for once', async () => {
    const rig = retrying()
    saying(rig, '0.9')
    await rig.ask(chat('hi'))
    expect(rig.reached).toHaveLength(1)
    rig.host.answers.clear()
    await rig.ask(chat('other'))
    expect(rig.reached).toHaveLength(2)
  })

  test('those who wait get the better one too', async () => {
    const rig = retrying()
    saying(rig, '0.1', '0.8')
    const got = await Promise.all([1, 2, 3].map(() => rig.ask(chat('hi'))))
    expect(got.every((each) => each.text.includes('0.8'))).toBe(true)
    expect(rig.reached).toHaveLength(2)
  })
})
