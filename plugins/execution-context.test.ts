import { describe, expect, it } from 'vitest'
import { context, instant, key, opening, secretKey } from './execution-context.support.ts'
import { contextFault, createContext, credentialDigest, type ExecutionContext } from './execution-context.ts'
import type { ContextFacts } from './execution-context-facts.ts'
import { openContext } from './execution-context-open.ts'
import { sealContext } from './execution-context-seal.ts'

const sealed = (over: Partial<ExecutionContext> = {}) => sealContext({ ...context, ...over }, key)
const faulty = (over: Record<string, unknown>) => contextFault({ ...context, ...over })

describe('createContext()', () => {
  it('works for ten seconds from the second of its sending', () => {
    expect([context.iat, context.exp, context.v]).toEqual([1_790_000_000, 1_790_000_010, 1])
    expect(createContext({ ...context, sentAtMs: instant, lifetimeSeconds: 60 }).exp).toBe(1_790_000_060)
  })

  it('the digest of a credential is that of the bytes of its header', () => {
    expect(credentialDigest('\u00e9')).toBe(credentialDigest(Buffer.from([0xe9]).toString('latin1')))
    expect(credentialDigest('a')).toBe('ypeBEsobvcr6wjGzmiPcTaeG7_gUfE5yuYB3ha_uSLs')
  })
})

describe('contextFault()', () => {
  it('a right context has none', () => {
    expect(contextFault(context)).toBeUndefined()
  })

  it.each([
    [{ v: 2 }, 'v: must be 1'],
    [{ id: 'A'.repeat(32) }, 'id: must match'],
    [{ attempt: 0 }, 'attempt: must be >= 1'],
    [{ attempt: 1.5 }, 'attempt: must be integer'],
    [{ attempt: 1_001 }, 'attempt: must be <= 1000'],
    [{ shadow: 'false' }, 'shadow: must be boolean'],
    [{ iss: '' }, 'iss: must match'],
    [{ now: -1 }, 'now: must be >= 0'],
    [{ pol: 'x' }, 'pol: must match'],
    [{ bod: `${'A'.repeat(42)}B` }, 'bod: must match'],
    [{ crd: null }, 'crd: must be string'],
    [{ nonce: 'x' }, 'nonce: unknown key'],
    [{ modes: {} }, 'modes: must NOT have fewer'],
    [{ modes: { auth: 'enforced' } }, 'modes.auth: must be one of'],
    [{ modes: { Auth: 'enforce' } }, 'modes'],
    [{ facts: { Tenant: 't' } }, 'facts.Tenant: unknown key'],
    [{ facts: { tenant: 5 } }, 'facts.tenant: must be string'],
    [{ facts: { tenant: 't'.repeat(257) } }, 'facts.tenant: must NOT have more'],
    [{ facts: { scopes: 'chat' } }, 'facts.scopes: must be array'],
    [{ facts: { claims: { a: [[[[1]]]] } } }, 'facts.claims.a'],
    [{ facts: { claims: JSON.parse('{"__proto__":1}') } }, 'facts.claims'],
    [{ facts: { target: [{ runner: 'a' }] } }, 'facts.target[0].model: is required'],
    [{ reads: { cache: { size: 1 } } }, 'reads.cache: the layer does not observe'],
    [{ reads: { constructor: { size: 1 } } }, 'reads.constructor: the layer does not observe'],
    [{ reads: { 'rate-limit': { level: { deep: 1 } } } }, 'reads.rate-limit.level'],
    [
      { reads: { 'rate-limit': { a: 'x'.repeat(128), b: 'x'.repeat(128), c: 'x'.repeat(128), d: 'x'.repeat(128) } } },
      'reads: more than 512 bytes',
    ],
  ])('$1', (over, fault) => {
    expect(faulty(over)).toContain(fault)
  })

  it.each(Object.keys(context))('%s cannot be left out, unless it may be absent', (member) => {
    const { [member as 'id']: _, ...rest } = context
    const mayBeAbsent = member === 'crd' || member === 'reads'
    expect(contextFault(rest)).toBe(mayBeAbsent ? undefined : `${member}: is required`)
  })

  it('facts of any layer and claims of any name have their place', () => {
    const facts: ContextFacts = {
      target: [{ runner: 'gpu-a', model: 'm' }],
      claims: { 'https://example.org/roles': ['a', { b: 1 }], amount: 1.5, none: null },
      largest: true,
    }
    expect(faulty({ facts })).toBeUndefined()
  })

  it('reads of 512 bytes are taken, of 513 not', () => {
    const text = (bytes: number) => {
      const value = { 'rate-limit': { a: ['x'.repeat(128), 'x'.repeat(128), 'x'.repeat(128)], b: '' } }
      return { 'rate-limit': { ...value['rate-limit'], b: 'y'.repeat(bytes - JSON.stringify(value).length) } }
    }
    expect(JSON.stringify(text(512))).toHaveLength(512)
    expect([faulty({ reads: text(512) }), faulty({ reads: text(513) })]).toEqual([
      undefined,
      'reads: more than 512 bytes',
    ])
  })
})

describe('sealContext()', () => {
  it('the whole example stays under 1.2 KiB, and what is sealed is what is opened', () => {
    const result = sealed()
    expect(result).toMatchObject({ ok: true })
    const header = result.ok ? result.header : ''
    expect(header.length).toBeLessThan(1_229)
    expect(openContext(header, opening())).toEqual({ ok: true, context, kid: 'k1' })
  })

  it('the largest context that fits is taken, one byte more is not sent', () => {
    const length = (over: number): number => {
      const result = sealContext({ ...context, facts: { claims: claims(over) } }, key)
      return result.ok ? result.header.length : Number.NaN
    }
    const claims = (count: number) =>
      Object.fromEntries(
        Array.from({ length: Math.ceil(count / 100) }, (_, at) => [
          `c${at}`,
          'x'.repeat(Math.min(100, count - at * 100)),
        ]),
      )
    let most = 1_000
    while (length(most + 1) <= 4_096) most += 1
    expect(length(most)).toBeGreaterThan(4_092)
    expect(sealContext({ ...context, facts: { claims: claims(most + 2) } }, key)).toMatchObject({
      ok: false,
      reason: 'context-too-large',
    })
  })

  it('an instance that takes less gets less, and none gets more than the protocol allows', () => {
    expect(sealContext(context, key, 512)).toMatchObject({ ok: false, reason: 'context-too-large' })
    const facts = { claims: Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`c${at}`, 'x'.repeat(100)])) }
    expect(sealContext({ ...context, facts }, key, 65_536)).toMatchObject({ ok: false, reason: 'context-too-large' })
  })

  it('what a caller brings along that has no room is not sent, so that no runner is blamed for it', () => {
    expect(sealed({ facts: { tenant: 't'.repeat(300) } })).toMatchObject({
      ok: false,
      reason: 'context-too-large',
      detail: expect.stringContaining('facts.tenant'),
    })
    // The address of a caller who has gone already.
    expect(sealed({ facts: { client_ip: '' } })).toMatchObject({ ok: false, reason: 'context-too-large' })
  })

  it('a key that only one side has is of no use', () => {
    const result = sealContext(context, secretKey('k1', 9))
    expect(result.ok && openContext(result.header, opening())).toMatchObject({
      ok: false,
      refusal: { code: 'signature' },
    })
  })
})
