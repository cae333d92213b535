import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createTestHost } from '../../test/support/host.ts'
import { createCall } from '../call.ts'
import { GatewayError } from '../errors.ts'
import type { CacheConfig } from './config.ts'
import { fold } from './fold.ts'
import { actCache } from './gateway.ts'
import { cache } from './index.ts'
import { judge } from './rule.ts'
import { ruleFromConfig } from './rule-from-config.ts'
import { type CacheStep, cacheStep } from './step.ts'
import { answerTo, chat, completion, createRig } from './test-rig.ts'
import { tighten } from './tighten.ts'

const last = 'messages[-1].content'
const scorer = { url: 'http://scorer/score' }
const operator: Partial<CacheConfig> = {
  ttl_seconds: 100,
  input_hash_fields: [{ path: last, precision: 'string_trim' }, { path: 'metadata.day', precision: 'int64' }, 'plan'],
  preprocess_hooks: [{ field: last, function: 'normalize_numbers' }],
  output_validation: { json_schema: { type: 'object' }, quality_score: { min: 0.5, scorer } },
}
const stepOf = (config: Partial<CacheConfig> = operator): CacheStep =>
  fold(cache.config.parse(config), createTestHost())
const step = stepOf()

/** The digest of a call's key under a step, or why it has none. */
function keyOf(of: CacheStep, body: object, claims: object = { plan: 'gold', user_id: 'u' }): string {
  const rule = ruleFromConfig(of, new Set(of.declared), [])
  const principal = { id: 'u', tenant: 't', tier: 'free', scopes: [], claims, method: 'jwt' } as never
  const facts = { client_ip: '192.0.2.1', principal }
  const { signal } = new AbortController()
  const bytes = Buffer.from(JSON.stringify(body))
  const call = createCall({ id: 'c', route: 'chat', now: 0, body: bytes, headers: {}, facts, signal })
  const { key } = judge(rule, call, { inside: '' })
  return 'digest' in key ? key.digest : key.reason
}
const body = (content: string, more: object = {}) => chat(content, { metadata: { day: 3 }, ...more })

describe('what directives ask of the cache', () => {
  test('nothing asked, and what the operator has already, leaves the very same step', () => {
    expect(tighten(step, {})).toBe(step)
    expect(tighten(step, { cache: {} })).toBe(step)
    const same = {
      ttl_seconds: 100,
      cache_strategy: 'any',
      input_hash_fields: [],
      preprocess_hooks: [{ field: 'messages.-1.content', function: 'normalize_numbers' }],
      output_validation: { quality_score: { min: 0.5 } },
    }
    expect(tighten(step, { cache: same })).toBe(step)
  })
  test('everything tightened is a step that survives its own schema', () => {
    const tightened = tighten(step, {
      cache: {
        ttl_seconds: 5,
        cache_strategy: 'deterministic',
        input_hash_fields: ['messages.0.content', { path: 'metadata.hour', precision: 'int64' }, 'client_ip'],
        output_validation: { json_schema: { required: ['a'] }, quality_score: { min: 0.9 } },
      },
    })
    expect(tightened).toMatchObject({ ttl_seconds: 5, cache_strategy: 'deterministic', added: { min: 0.9 } })
    expect(cacheStep.parse(JSON.parse(JSON.stringify(tightened)))).toEqual(tightened)
  })
  test('further fields tell apart what would else share an answer, and merge nothing', () => {
    const added = (input_hash_fields: unknown[]) => tighten(step, { cache: { input_hash_fields } })
    const system = (text: string) => ({
      ...body('hi'),
      messages: [
        { role: 'system', content: text },
        { role: 'user', content: 'hi' },
      ],
    })
    expect(keyOf(step, system('a'))).toBe(keyOf(step, system('b')))
    expect(keyOf(added(['messages[0].content']), system('a'))).not.toBe(
      keyOf(added(['messages[0].content']), system('b')),
    )
    const rounded = added([
      { path: 'temperature', precision: 'int64' },
      { path: last, precision: 'string_trim' },
    ])
    expect(keyOf(rounded, body('hi', { temperature: 0.1 }))).not.toBe(keyOf(rounded, body('hi', { temperature: 0.2 })))
    expect(keyOf(added(['vendor']), body('hi'))).toBe('hash-field-absent')
  })
  test('where the whole body is the key, fields of the body change nothing; facts and what the body key leaves out count', () => {
    const whole = stepOf({})
    const added = (field: unknown) => tighten(whole, { cache: { input_hash_fields: [field] } })
    expect(keyOf(added(last), body('hi'))).toBe(keyOf(whole, body('hi')))
    expect(keyOf(added('user'), body('hi', { user: 'a' }))).not.toBe(keyOf(added('user'), body('hi', { user: 'b' })))
    expect(keyOf(added('tier'), body('hi'))).not.toBe(keyOf(whole, body('hi')))
  })
  test('who asks for a better answer is not given one that was held to less', async () => {
    const rig = createRig()
    const own = fold(cache.config.parse({}), rig.host)
    await rig.ask(chat('hi'))
    const strict = actCache(
      tighten(own, { cache: { output_validation: { json_schema: { type: 'object' } } } }),
      rig.host,
    )
    const strictly = { ...rig, acting: strict }
    const first = rig.reached[0] as NonNullable<(typeof rig.reached)[0]>
    const ask = async (text: string): Promise<string | undefined> => {
      const verdict = await strictly.acting.decide?.(first, 'enforce')
      if (verdict?.kind === 'pass') {
        const reply = await strict.settle?.(first, answerTo(first, completion(text)), {
          mode: 'enforce',
          again: rig.runner,
        })
        for await (const _ of reply?.bytes() ?? []);
      }
      strict.release?.(first)
      return verdict?.kind
    }
    expect([await ask('no json'), await ask('{"a":1}'), await ask('-')]).toEqual(['pass', 'pass', 'answer'])
  })
  test('a higher least score keeps less, and curated answers are given all the same', async () => {
    const pinned = [{ fields: { [last]: 'hi', 'metadata.day': 3, plan: 'gold' }, response: 'curated' }]
    const of = stepOf({ ...operator, pinned })
    const tightened = tighten(of, {
      cache: { input_hash_fields: ['client_ip'], output_validation: { quality_score: { min: 0.8 } } },
    })
    const host = createTestHost()
    host.answers.set(scorer.url, () => ({ body: Buffer.from('{"score":0.7}') }))
    const principal = { id: 'u', tenant: 't', tier: '', scopes: [], claims: { plan: 'gold' }, method: 'jwt' } as const
    const callOf = (content: string) =>
      createCall({
        id: content,
        route: 'chat',
        now: 0,
        body: Buffer.from(JSON.stringify(body(content))),
        headers: {},
        facts: { client_ip: '192.0.2.1', principal },
        signal: new AbortController().signal,
      })
    for (const [each, kept] of [
      [of, 'answer'],
      [tightened, 'pass'],
    ] as const) {
      const acting = actCache(each, host)
      expect((await acting.decide?.(callOf('hi'), 'enforce'))?.kind).toBe('answer')
      const call = callOf('ho')
      await acting.decide?.(call, 'enforce')
      const reply = await acting.settle?.(call, answerTo(call, completion('{}')), {
        mode: 'enforce',
        again: async (other) => answerTo(other, completion()),
      })
      for await (const _ of reply?.bytes() ?? []);
      acting.release?.(call)
      expect((await acting.decide?.(callOf('ho'), 'enforce'))?.kind).toBe(kept)
    }
  })
  test.each<[Record<string, unknown>, string]>([
    [{ ttl: 1 }, 'ttl'],
    [{ ttl_seconds: '5' }, 'ttl_seconds'],
    [{ ttl_seconds: -1 }, 'ttl_seconds'],
    [{ ttl_seconds: 101 }, 'ttl_seconds'],
    [{ input_hash_fields: 'messages' }, 'input_hash_fields'],
    [{ input_hash_fields: Array.from({ length: 17 }, () => 'a') }, 'input_hash_fields'],
    [{ input_hash_fields: ['a', 'a..b'] }, 'input_hash_fields[1]'],
    [{ input_hash_fields: ['user_id'] }, 'input_hash_fields[0]'],
    [{ input_hash_fields: ['facts.peer'] }, 'input_hash_fields[0]'],
    [{ input_hash_fields: [{ path: 'a', precision: 'float64' }] }, 'input_hash_fields[0].precision'],
    [{ preprocess_hooks: [{ field: last, function: 'normalize_whitespace' }] }, 'preprocess_hooks[0].function'],
    [{ preprocess_hooks: [{ field: 'plan', function: 'normalize_numbers' }] }, 'preprocess_hooks[0].function'],
    [{ preprocess_hooks: [{ field: '..', function: 'normalize_numbers' }] }, 'preprocess_hooks[0].field'],
    [{ cache_strategy: 'always' }, 'cache_strategy'],
    [{ output_validation: { quality_score: { min: 0.4 } } }, 'output_validation.quality_score.min'],
    [{ output_validation: { quality_score: { min: 1, scorer } } }, 'output_validation.quality_score.scorer'],
    [{ output_validation: { json_schema: { type: 'nonsense' } } }, 'output_validation.json_schema.type'],
    [{ output_validation: { json_schema: { $ref: 'http://127.0.0.1/x' } } }, 'output_validation.json_schema'],
  ])('%j is refused at execution_context.cache, member %s', (cacheAsked, member) => {
    const refused = (): unknown => tighten(step, { cache: cacheAsked })
    expect(refused).toThrow(GatewayError)
    try {
      refused()
    } catch (reason) {
      expect(reason).toMatchObject({ code: 'invalid_request' })
      expect((reason as GatewayError).detail.field).toMatch(`execution_context.cache.${member}`)
    }
  })
  test('a score that nobody gives, and a strategy that the operator has excluded, are refused', () => {
    const field = (of: CacheStep, asked: object) => () => tighten(of, { cache: asked as never })
    expect(field(stepOf({}), { output_validation: { quality_score: { min: 1 } } })).toThrow('needs a scorer')
    expect(field(stepOf({ cache_strategy: 'deterministic' }), { cache_strategy: 'any' })).toThrow('cache_strategy')
  })
})

test('whatever is asked: no two calls share a key that the operator keeps apart, and none has one that had none', () => {
  const path = fc.constantFrom(
    last,
    'messages[0].content',
    'metadata.day',
    'temperature',
    'plan',
    'tier',
    'user',
    'metadata',
    'messages',
  )
  const field = fc.oneof(path, fc.record({ path, precision: fc.constantFrom('int64', 'string_trim') }))
  const directives = fc.record(
    {
      ttl_seconds: fc.nat(120),
      input_hash_fields: fc.array(field, { maxLength: 4 }),
      cache_strategy: fc.constantFrom('any', 'deterministic'),
      output_validation: fc.record(
        {
          json_schema: fc.constant({ type: 'array' }),
          quality_score: fc.record({ min: fc.double({ min: 0, max: 1, noNaN: true }) }),
        },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: [] },
  )
  const asked = fc.record({
    content: fc.constantFrom('a', ' a', 'b', '1,000', '1000'),
    more: fc.record(
      {
        temperature: fc.constantFrom(0, 0.5, 1),
        metadata: fc.constantFrom({ day: 3 }, { day: '3.0' }, { day: 4 }, {}),
        user: fc.constantFrom('x', 'y'),
      },
      { requiredKeys: ['metadata'] },
    ),
  })
  let told = 0
  fc.assert(
    fc.property(directives, asked, fc.option(asked), fc.boolean(), (cacheAsked, one, another, fields) => {
      const other = another ?? { ...one, content: ` ${one.content}` }
      const of = fields ? step : stepOf({ ttl_seconds: 100 })
      let tightened: CacheStep
      try {
        tightened = tighten(of, { cache: cacheAsked })
      } catch (reason) {
        expect(reason).toMatchObject({ code: 'invalid_request' })
        return
      }
      const keys = (by: CacheStep) => [one, other].map(({ content, more }) => keyOf(by, chat(content, more)))
      const [before, after] = [keys(of), keys(tightened)]
      if (after[0] === after[1] && /^[0-9a-f]{64}$/.test(after[0] ?? '')) {
        expect(before[0]).toBe(before[1])
        told++
      }
      for (const at of [0, 1])
        if (!/^[0-9a-f]{64}$/.test(before[at] ?? '')) expect(after[at]).not.toMatch(/^[0-9a-f]{64}$/)
      expect(tightened.ttl_seconds).toBeLessThanOrEqual(of.ttl_seconds)
      expect(tightened.output_validation).toBe(of.output_validation)
      expect(tightened.added?.min ?? 1).toBeGreaterThan(of.output_validation?.quality_score?.min ?? 0)
    }),
    { seed: 6, numRuns: 3000 },
  )
  expect(told).toBeGreaterThan(20)
})
