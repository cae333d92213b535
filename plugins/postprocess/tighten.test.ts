import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Directives } from '../directives.ts'
import { type GatewayError, gatewayErrorFrom } from '../errors.ts'
import type { NativeContract } from '../layer.ts'
import { postprocess } from './index.ts'
import type { PostprocessStep } from './step.ts'
import { callOf, completionOf, seatOf, settledBy, stepOf, wholeOf } from './test-answers.ts'

const native = postprocess.native as NativeContract<PostprocessStep>
const tightened = (step: PostprocessStep, directives: object): PostprocessStep =>
  postprocess.tighten?.(step, directives as Directives) as PostprocessStep
const constraints = (of: object): object => ({ system_prompt: { constraints: of } })

/** What an answer becomes: its text, or the code it is refused with. */
async function outcome(step: PostprocessStep, text: string, tenant = 't1'): Promise<{ text?: unknown; code?: string }> {
  try {
    const acting = await native.act(step, seatOf())
    const reply = await settledBy(acting, { call: callOf({}, { tenant }), says: [completionOf(text)] })
    return { text: (await wholeOf(reply)).choices?.[0]?.message?.content }
  } catch (reason) {
    return { code: gatewayErrorFrom(reason).code }
  }
}
const fieldOf = (step: PostprocessStep, directives: object): unknown => {
  try {
    return tightened(step, directives)
  } catch (error) {
    expect(error).toMatchObject({ code: 'invalid_request' })
    return (error as GatewayError).detail.field?.replace('execution_context.', '')
  }
}

const plain = stepOf({})
const terms = { safetyTerms: { medical: { low: ['ache'], medium: ['dose'], high: ['overdose'] } } }

describe('what is asked', () => {
  test('nothing of this layer leaves the very same step', () => {
    for (const directives of [
      {},
      { cache: { ttl_seconds: 1 }, routing: { m: 1 } },
      { system_prompt: { version: '1' }, output_constraints: {}, safety: [], custom_safety_rules: [] },
      constraints({ required_phrases: [], min_output_length: 0 }),
    ]) {
      expect(tightened(plain, directives)).toBe(plain)
    }
  })
  test("a schema is held to beside the operator's", async () => {
    const own = stepOf({ json: { schema: { type: 'object', required: ['a'] } } })
    const both = tightened(own, { output_constraints: { json_schema: { type: 'object', required: ['b'] } } })
    expect(await outcome(both, '{"a":1,"b":2}')).toEqual({ text: '{"a":1,"b":2}' })
    expect(await outcome(both, '{"a":1}')).toEqual({ code: 'output_invalid' })
    expect(await outcome(both, '{"b":1}')).toEqual({ code: 'output_invalid' })
    const alone = tightened(plain, { output_constraints: { json_schema: { type: 'object' } } })
    expect(await outcome(alone, 'no JSON')).toEqual({ code: 'output_invalid' })
    const acting = await native.act(alone, seatOf())
    expect(acting.buffers?.(callOf({ stream: true }))).toBe(true)
  })
  test('phrases are added and the longer length counts, for tenants with rules of their own too', async () => {
    const own = stepOf({
      forbidden_phrases: ['alpha'],
      tenants: { acme: { forbidden_phrases: [], min_output_length: 9 } },
    })
    const asked = tightened(
      own,
      constraints({ required_phrases: ['yes'], forbidden_phrases: ['beta'], min_output_length: 5 }),
    )
    expect(await outcome(asked, 'yes, all right')).toEqual({ text: 'yes, all right' })
    for (const text of ['all right then', 'yes, beta it is', 'yes', 'yes, alpha it is']) {
      expect(await outcome(asked, text)).toEqual({ code: 'output_invalid' })
    }
    expect(await outcome(asked, 'yes, alpha it is', 'acme')).toEqual({ text: 'yes, alpha it is' })
    expect(await outcome(asked, 'yes, beta it is', 'acme')).toEqual({ code: 'output_invalid' })
    expect(await outcome(asked, 'yes, all', 'acme')).toEqual({ code: 'output_invalid' })
  })
  test('a rule of the caller redacts with one character, so that no answer grows by it', async () => {
    const rules = [{ id: 'names', trigger_phrases: ['Ann', 'Bob'], action: 'redact' }]
    const asked = tightened(stepOf({ min_output_length: 8 }), { custom_safety_rules: rules })
    expect(await outcome(asked, 'Ann met Bob')).toEqual({ code: 'output_invalid' })
    expect(await outcome(asked, 'Ann met Bob there')).toEqual({ text: '• met • there' })
  })
  test('a category counts from the stricter of two thresholds', async () => {
    const own = stepOf({ ...terms, safety: [{ category: 'medical', threshold: 'block_medium' }] })
    const asked = tightened(own, { safety: [{ category: 'medical', threshold: 'block_all' }] })
    expect(await outcome(own, 'an ache')).toEqual({ text: 'an ache' })
    expect(await outcome(asked, 'an ache')).toEqual({ code: 'output_invalid' })
    expect(
      await outcome(
        tightened(stepOf(terms), { safety: [{ category: 'medical', threshold: 'block_high' }] }),
        'an overdose',
      ),
    ).toEqual({ code: 'output_invalid' })
    expect(fieldOf(own, { safety: [{ category: 'medical', threshold: 'block_high' }] })).toBe('safety[0].threshold')
    expect(fieldOf(own, { safety: [{ category: 'legal', threshold: 'block_all' }] })).toBe('safety[0].category')
  })
  test('a hook is one that is configured, and is in force already', () => {
    const hooks = { post_processing_hooks: [{ function: 'review_by_human_if_uncertain' }] }
    const reviewed = stepOf({
      quality_score: { scorer: 'endpoint', url: 'http://x/y' },
      review: { below: 1, webhook: 'http://x/z' },
    })
    expect(tightened(reviewed, hooks)).toBe(reviewed)
    expect(fieldOf(plain, hooks)).toBe('post_processing_hooks[0].function')
    expect(fieldOf(reviewed, { post_processing_hooks: [{ function: 'eval' }] })).toBe(
      'post_processing_hooks[0].function',
    )
  })
  test('what no answer can satisfy beside the rules is refused before anything runs', async () => {
    const own = stepOf({ forbidden_phrases: ['alpha'], suffix: 'Bye.' })
    for (const [directives, field] of [
      [constraints({ required_phrases: ['alpha'] }), 'execution_context.system_prompt.constraints.required_phrases[0]'],
      [constraints({ forbidden_phrases: ['bye'] }), 'execution_context'],
      [{ output_constraints: { json_schema: {} } }, 'execution_context'],
    ] as const) {
      const acting = await native.act(tightened(own, directives), seatOf())
      expect(() => acting.decide?.(callOf({}), 'enforce')).toThrow(
        expect.objectContaining({ code: 'unsatisfiable', detail: expect.objectContaining({ field }) }),
      )
    }
  })
  const own = stepOf({
    min_output_length: 5,
    custom_safety_rules: [{ id: 'r', trigger_phrases: ['x'], action: 'block' }],
  })
  const rule = { id: 'mine', trigger_phrases: ['x'], action: 'block' }
  test.each([
    [{ output_constraints: { schema: {} } }, 'output_constraints.schema'],
    [{ output_constraints: { json_schema: true } }, 'output_constraints.json_schema'],
    [{ output_constraints: { json_schema: { type: 'objekt' } } }, 'output_constraints.json_schema.type'],
    [{ output_constraints: { json_schema: { $ref: 'http://x/y' } } }, 'output_constraints.json_schema.$ref'],
    [{ output_constraints: { json_schema: { title: 'x'.repeat(70_000) } } }, 'output_constraints.json_schema'],
    [constraints({ min_output_length: 4 }), 'system_prompt.constraints.min_output_length'],
    [constraints({ min_output_length: 100_001 }), 'system_prompt.constraints.min_output_length'],
    [constraints({ required: [] }), 'system_prompt.constraints.required'],
    [constraints({ required_phrases: Array(33).fill('x') }), 'system_prompt.constraints.required_phrases'],
    [constraints({ forbidden_phrases: ['x'.repeat(513)] }), 'system_prompt.constraints.forbidden_phrases[0]'],
    [{ safety: [{ category: 'a' }] }, 'safety[0].threshold'],
    [{ custom_safety_rules: [{ ...rule, action: 'ignore' }] }, 'custom_safety_rules[0].action'],
    [{ custom_safety_rules: [{ ...rule, id: 'r' }] }, 'custom_safety_rules[0].id'],
    [{ custom_safety_rules: Array(33).fill(rule) }, 'custom_safety_rules'],
    [{ post_processing_hooks: [{ function: 'x', url: 'http://x' }] }, 'post_processing_hooks[0].url'],
  ])('what is wrong, looser or too much is named: %#', (directives, field) => {
    expect(fieldOf(own, directives)).toBe(field)
  })
  test('a tightened step is a step, and another rule for the cache', async () => {
    const asked = tightened(stepOf(terms), {
      output_constraints: { json_schema: { type: 'object' } },
      safety: [{ category: 'medical', threshold: 'block_all' }],
      custom_safety_rules: [rule],
      ...constraints({ required_phrases: ['a'], forbidden_phrases: ['b'], min_output_length: 1 }),
    })
    expect(native.step.faults(asked)).toEqual([])
    const ruleOf = async (step: PostprocessStep) => (await native.act(step, seatOf())).ruleFor?.(callOf({}))
    expect(await ruleOf(asked)).not.toEqual(await ruleOf(stepOf(terms)))
    expect(await ruleOf(asked)).toEqual(await ruleOf(structuredClone(asked)))
  })
})

const word = fc.constantFrom(
  'alpha',
  'beta',
  'gamma',
  'a@b.com',
  'ache',
  'dose',
  'no',
  'yes',
  ',',
  '{"k":1}',
  '<think>',
  '</think>',
)
const phrase = fc.oneof(word, fc.constantFrom('a', 'e', 'ph', '@', 'b.com and', 'and'))
const directive = fc.record(
  {
    output_constraints: fc.constantFrom({}, {}, {}, { json_schema: { type: 'object' } }),
    system_prompt: fc.record({
      constraints: fc.record(
        {
          required_phrases: fc.array(phrase, { maxLength: 1 }),
          forbidden_phrases: fc.array(phrase, { maxLength: 1 }),
          min_output_length: fc.integer({ min: 0, max: 30 }),
        },
        { requiredKeys: [] },
      ),
    }),
    safety: fc.array(
      fc.record({
        category: fc.constant('medical'),
        threshold: fc.constantFrom('block_none', 'block_medium', 'block_all'),
      }),
      { maxLength: 1 },
    ),
    custom_safety_rules: fc.array(
      fc.record({
        id: fc.constantFrom('r1', 'r2'),
        trigger_phrases: fc.array(phrase, { minLength: 1, maxLength: 3 }),
        action: fc.constantFrom('redact', 'redact', 'annotate', 'block'),
      }),
      { maxLength: 2 },
    ),
  },
  { requiredKeys: [] },
)
const bases = [
  { forbidden_phrases: ['alpha'], pii: { types: ['email'] }, min_output_length: 12, redaction: '' },
  { ...terms, safety: [{ category: 'medical', threshold: 'block_medium' }], reasoning: {}, required_phrases: ['yes'] },
  { forbidden_phrases: ['beta'], forbiddenAction: 'redact', pii: { types: ['email'] }, min_output_length: 20 },
  { forbidden_phrases: ['alpha'], forbiddenAction: 'annotate', phrases: { nfkc: true }, min_output_length: 8 },
].map((config) => stepOf(config))

test('whatever is asked, an answer that the rules refuse stays refused, and what they take out stays out', async () => {
  let admitted = 0
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...bases),
      directive,
      fc.array(word, { maxLength: 8 }),
      async (base, given, words) => {
        let asked: PostprocessStep
        try {
          asked = tightened(base, given)
        } catch (error) {
          expect((error as GatewayError).code).toBe('invalid_request')
          return
        }
        const text = words.join(' ')
        const was = await outcome(base, text)
        const is = await outcome(asked, text)
        if (was.code !== undefined) expect(is.code).toBeDefined()
        if (is.code !== undefined) return
        admitted++
        for (const out of words) {
          if (out.length > 1 && !String(was.text).includes(out)) expect(String(is.text)).not.toContain(out)
        }
      },
    ),
    { seed: 11, numRuns: 800 },
  )
  expect(admitted).toBeGreaterThan(50)
})
