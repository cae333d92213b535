import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createCall } from '../call.ts'
import { GatewayError } from '../errors.ts'
import type { CacheConfig } from './config.ts'
import { cache } from './index.ts'
import { judge } from './rule.ts'
import { ruleFromConfig } from './rule-from-config.ts'
import { chat } from './test-rig.ts'

interface Asked {
  readonly body: object | string
  readonly tenant?: string
  readonly route?: 'chat' | 'messages'
  readonly inside?: string
}

/** The digest of a call's key, or why it has none. */
function keyOf(config: Partial<CacheConfig>, { body, tenant = 't1', route = 'chat', inside = '' }: Asked): string {
  const rule = ruleFromConfig(cache.config.parse(config), new Set(['user_id']), [])
  const principal = { id: 'u', tenant, tier: 'free', scopes: [], claims: { user_id: 'u' }, method: 'jwt' } as const
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const { signal } = new AbortController()
  const call = createCall({ id: 'c', route, now: 0, body: bytes, headers: {}, facts: { principal }, signal })
  const { key } = judge(rule, call, { inside })
  return 'digest' in key ? key.digest : key.reason
}

const lastMessage: Partial<CacheConfig> = { input_hash_fields: ['messages[-1].content'] }

describe('the whole body as key', () => {
  test('the order of members does not count, at any depth', () => {
    const members = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 5 })
    fc.assert(
      fc.property(members, members, (vendor, tool) => {
        const body = chat('hi', { vendor, tools: [{ type: 'function', function: tool }] })
        return keyOf({}, { body }) === keyOf({}, { body: reversed(body) as object })
      }),
      { seed: 1, numRuns: 60 },
    )
  })

  test('a member of any name and value that is not about delivery changes the key', () => {
    const name = fc
      .string({ minLength: 1 })
      .filter((each) => !['stream', 'stream_options', 'user', 'metadata', '__proto__'].includes(each))
    fc.assert(
      fc.property(name, fc.jsonValue(), (member, value) => {
        fc.pre(!(member in chat('hi')) && !['temperature', 'n', 'stop', 'tools'].includes(member))
        return keyOf({}, { body: chat('hi', { [`x${member}`]: value }) }) !== keyOf({}, { body: chat('hi') })
      }),
      { seed: 2, numRuns: 60 },
    )
  })

  // B03
  test.each([
    ['max_tokens', 16, 17],
    ['max_completion_tokens', 16, 17],
    ['stop', ['a'], ['b']],
    ['n', 1, 2],
    ['seed', 1, 2],
    ['seed', '1', 1],
    ['response_format', { type: 'text' }, { type: 'json_object' }],
    ['frequency_penalty', 0, 0.1],
    ['presence_penalty', 0, 0.1],
    ['logit_bias', { 1: 1 }, { 1: 2 }],
    ['reasoning_effort', 'low', 'high'],
    ['logprobs', false, true],
    ['top_logprobs', 1, 2],
    ['tools', [], [{ type: 'function' }]],
    ['vendor_field', null, 0],
  ])('%s counts: absent, %j and %j are three keys', (member, a, b) => {
    for (const config of [{}, lastMessage]) {
      const keys = [{}, { [member]: a }, { [member]: b }].map((more) => keyOf(config, { body: chat('hi', more) }))
      expect(new Set(keys).size).toBe(3)
    }
  })

  test('the detail of an image counts', () => {
    const image = (detail: string) => chat([{ type: 'image_url', image_url: { url: 'https://a/b.png', detail } }])
    expect(keyOf({}, { body: image('low') })).not.toBe(keyOf({}, { body: image('high') }))
    expect(keyOf(lastMessage, { body: image('low') })).not.toBe(keyOf(lastMessage, { body: image('high') }))
  })

  test.each([
    ['stream', true],
    ['stream_options', { include_usage: true }],
    ['user', 'someone'],
    ['metadata', { a: '1' }],
  ])('%s does not count', (member, value) => {
    for (const config of [{}, lastMessage]) {
      expect(keyOf(config, { body: chat('hi', { [member]: value }) })).toBe(keyOf(config, { body: chat('hi') }))
    }
  })

  // B04
  test('absent, null and 0 are three temperatures; 0, 0.0 and -0 are one', () => {
    const body = (text: string) => `{"model":"m","messages":[{"role":"user","content":"hi"}]${text}}`
    const keys = ['', ',"temperature":null', ',"temperature":0', ',"temperature":1'].map((text) =>
      keyOf({}, { body: body(text) }),
    )
    expect(new Set(keys).size).toBe(4)
    const zeros = ['0', '0.0', '-0', '0e5'].map((text) => keyOf({}, { body: body(`,"temperature":${text}`) }))
    expect(new Set(zeros)).toEqual(new Set([keys[2]]))
  })

  test('integers beyond 2⁵³ keep their digits', () => {
    const body = (seed: string) => `{"model":"m","messages":[{"role":"user","content":"hi"}],"seed":${seed}}`
    expect(keyOf({}, { body: body('9007199254740993') })).not.toBe(keyOf({}, { body: body('9007199254740992') }))
  })
})

describe('who asks, and where', () => {
  test('two tenants never have one key, whatever they ask', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), (a, b, content) => {
        fc.pre(a !== b)
        return keyOf({}, { body: chat(content), tenant: a }) !== keyOf({}, { body: chat(content), tenant: b })
      }),
      { seed: 3, numRuns: 60 },
    )
  })

  test('the route, the model asked for and the rules inside each make another key', () => {
    const body = chat('hi')
    const keys = [
      keyOf({}, { body }),
      keyOf({}, { body, route: 'messages' }),
      keyOf({}, { body: { ...body, model: 'large' } }),
      keyOf(lastMessage, { body: { ...body, model: 'large' } }),
      keyOf({}, { body, inside: 'v2' }),
    ]
    expect(new Set(keys).size).toBe(5)
  })
})

describe('listed fields', () => {
  test('a listed field that is absent makes no key, and null or an empty text is not absent', () => {
    const config = { input_hash_fields: ['messages[1].content', 'messages[-1].content'] }
    expect(keyOf(config, { body: chat('hi') })).toBe('hash-field-absent')
    const two = (content: unknown) => ({ model: 'm', messages: [{ role: 'user' }, { role: 'assistant', content }] })
    expect(keyOf(config, { body: two('') })).not.toBe(keyOf(config, { body: two(null) }))
    expect(keyOf(config, { body: two('') })).toMatch(/^[0-9a-f]{64}$/)
    // A fact's name in the body is not the fact.
    expect(keyOf({ input_hash_fields: ['plan'] }, { body: chat('hi', { plan: 'x' }) })).toMatch(/^[0-9a-f]{64}$/)
    expect(keyOf({ input_hash_fields: ['facts.plan'] }, { body: chat('hi', { plan: 'x' }) })).toBe('hash-field-absent')
  })

  test('what is not listed of the input does not count, and a member that is listed counts under its precision', () => {
    const long = {
      model: 'm',
      messages: [
        { role: 'system', content: 'A' },
        { role: 'user', content: 'hi' },
      ],
    }
    const other = {
      model: 'm',
      messages: [
        { role: 'system', content: 'B' },
        { role: 'user', content: 'hi' },
      ],
    }
    expect(keyOf(lastMessage, { body: long })).toBe(keyOf(lastMessage, { body: other }))
    const config = { input_hash_fields: ['messages', { path: 'temperature', precision: 'decimal:1' }] }
    const at = (temperature: number) => keyOf(config, { body: chat('hi', { temperature }) })
    expect(at(0.71)).toBe(at(0.7))
    expect(at(0.8)).not.toBe(at(0.7))
  })

  test('fields, precisions and hooks are in the key, and so is what a hook of the operator does', () => {
    const field = (precision?: string) => [{ path: 'messages[-1].content', ...(precision ? { precision } : {}) }]
    const hook = [{ field: 'messages[-1].content', function: 'own' }]
    const own = (replacement: string) => ({ own: [{ pattern: 'zzz', replacement }] })
    const keys = [
      { input_hash_fields: field() },
      { input_hash_fields: field('string') },
      { input_hash_fields: field(), preprocess_hooks: hook, hooks: own('a') },
      { input_hash_fields: field(), preprocess_hooks: hook, hooks: own('b') },
    ].map((config) => keyOf(config, { body: chat('hi') }))
    expect(new Set(keys).size).toBe(4)
  })

  test('hooks merge what they are told to merge, with fields and without', () => {
    const preprocess_hooks = [{ field: 'messages[-1].content', function: 'normalize_whitespace' }]
    for (const input_hash_fields of [null, ['messages[-1].content']]) {
      const at = (content: unknown) => keyOf({ input_hash_fields, preprocess_hooks }, { body: chat(content) })
      expect(at('a  b ')).toBe(at('a b'))
      expect(at([{ type: 'text', text: 'a  b ' }])).toBe(at([{ type: 'text', text: 'a b' }]))
      expect(at('ab')).not.toBe(at('a b'))
    }
  })

  test('every fault of a rule is said at once, with its path', () => {
    const bad = {
      input_hash_fields: ['messages..x', 'messages[-1].content'],
      preprocess_hooks: [
        { field: 'messages[0].content', function: 'normalize_numbers' },
        { field: 'messages[-1].content', function: 'nope' },
      ],
      hooks: { own: [{ pattern: '(', replacement: '' }], normalize_numbers: [{ pattern: 'a', replacement: '' }] },
    }
    const faults: { path: string; message: string }[] = []
    ruleFromConfig(cache.config.parse(bad), new Set(), faults)
    expect(faults.map((fault) => fault.path).sort()).toEqual([
      'hooks.normalize_numbers',
      'hooks.own[0].pattern',
      'input_hash_fields[0]',
      'preprocess_hooks[0].field',
      'preprocess_hooks[1].function',
    ])
  })
})

test('a body that is nested too deeply is the caller’s fault', () => {
  const deep = `{"model":"m","messages":[{"role":"user","content":"x"}],"a":${'['.repeat(500)}${']'.repeat(500)}}`
  expect(() => keyOf({}, { body: deep })).toThrow(GatewayError)
})

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, reversed(member)]),
  )
}
