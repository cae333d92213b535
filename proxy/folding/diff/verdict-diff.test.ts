import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { essenceDigest } from '../../../plugins/acknowledgement.ts'
import { createCall } from '../../../plugins/call.ts'
import { canonicalJson } from '../../../plugins/canonical.ts'
import { gatewayError } from '../../../plugins/errors.ts'
import { defineLayer } from '../../../plugins/layer.ts'
import { createSchema } from '../../../plugins/schema.ts'
import { pass, refuse } from '../../../plugins/verdict.ts'
import { createBoundary } from './boundary.ts'
import { diffVerdict, type GatewayVerdict, gatewayVerdict } from './verdict-diff.ts'

const passing: GatewayVerdict = { outcome: 'pass', essence: { kind: 'pass' }, digest: essenceDigest({ kind: 'pass' }) }
const refusing = (code: string): GatewayVerdict => {
  const essence = { kind: 'refuse', code }
  return { outcome: 'refuse', code, essence, digest: essenceDigest(essence) }
}
const differences = (finding: ReturnType<typeof diffVerdict>) =>
  finding.verdict === 'differs' ? finding.differences : []

describe('diffVerdict()', () => {
  it('finds nothing where the runner says the same', () => {
    expect(diffVerdict('auth', passing, { said: { o: 'pass', e: passing.digest } })).toEqual({ verdict: 'equal' })
    const refused = refusing('forbidden')
    const said = { o: 'refuse', code: 'forbidden', e: refused.digest } as const
    expect(diffVerdict('auth', refused, { said })).toEqual({ verdict: 'equal' })
  })

  it('trips the fuse when the runner lets a caller in whom the gateway refuses', () => {
    const [first, ...more] = differences(
      diffVerdict('auth', refusing('unauthenticated'), { said: { o: 'pass', e: passing.digest } }),
    )
    expect(first).toMatchObject({ class: 'H', kind: 'verdict', path: 'kind', f1: 'auth-false-allow' })
    expect(first).toMatchObject({ kinds: ['refuse', 'pass'], codes: ['unauthenticated', ''] })
    expect(more).toEqual([])
  })

  it('takes a caller of another tenant for a false allow, and another id for a hard difference', () => {
    const here = { ...passing, caller: { id: 'u1', tenant: 'acme', tier: 'free' } }
    const said = { o: 'pass', e: essenceDigest(1), sub: 'u1', tier: 'free' } as const
    const [tenant] = differences(diffVerdict('auth', here, { said: { ...said, ten: 'globex' } }))
    expect(tenant).toMatchObject({ path: 'principal.tenant', f1: 'auth-false-allow' })
    const [id] = differences(diffVerdict('auth', here, { said: { ...said, ten: 'acme', sub: 'u2' } }))
    expect(id).toMatchObject({ class: 'H', path: 'principal.id' })
    expect(id).not.toHaveProperty('f1')
    expect(JSON.stringify(tenant)).not.toMatch(/acme|globex/)
  })

  it('takes a false deny and another code for hard, not for a fuse', () => {
    const deny = differences(diffVerdict('auth', passing, { said: { o: 'refuse', code: 'forbidden', e: 'x' } }))
    expect(deny).toMatchObject([{ class: 'H', kind: 'verdict', codes: ['', 'forbidden'] }])
    const code = differences(
      diffVerdict('auth', refusing('forbidden'), { said: { o: 'refuse', code: 'unauthenticated', e: 'x' } }),
    )
    expect(code).toMatchObject([{ kind: 'code', codes: ['forbidden', 'unauthenticated'] }])
    for (const { f1 } of [...deny, ...code]) expect(f1).toBeUndefined()
  })

  it('says that it does not know where, when only the digests differ', () => {
    const [only, ...more] = differences(diffVerdict('prompt', passing, { said: { o: 'pass', e: 'other' } }))
    expect(only).toMatchObject({ class: 'H', kind: 'digest', path: undefined })
    expect(more).toEqual([])
  })

  it('says where when it knows the other essence', () => {
    const essence = { kind: 'pass', request: { messages: [{ content: 'my secret wish' }] } }
    const here = { ...passing, essence, digest: essenceDigest(essence) }
    const there = { kind: 'pass', request: { messages: [{ content: 'my other wish' }] } }
    const finding = diffVerdict('prompt', here, { said: { o: 'pass', e: essenceDigest(there) }, essence: there })
    expect(differences(finding)).toMatchObject([{ path: 'request.messages[*].content', kind: 'value' }])
    expect(JSON.stringify(finding)).not.toContain('wish')
  })

  it('compares only the key of a cache, whatever lies under it', () => {
    const here: GatewayVerdict = { ...passing, outcome: 'answer' }
    expect(diffVerdict('cache', here, { said: { o: 'pass', e: passing.digest } })).toEqual({ verdict: 'equal' })
    expect(differences(diffVerdict('cache', here, { said: { o: 'pass', e: 'x' }, foreignKey: true }))).toMatchObject([
      { kind: 'digest', f1: 'cross-tenant-key' },
    ])
  })

  it('takes an armed layer for one that passes, and compares how it ended where both know', () => {
    const said = { o: 'armed', e: passing.digest } as const
    expect(diffVerdict('postprocess', passing, { said })).toEqual({ verdict: 'equal' })
    const failed = { ...passing, ended: { o: 'failed', code: 'output_invalid' } } as const
    expect(diffVerdict('postprocess', failed, { said: { ...said, o: 'failed', code: 'output_invalid' } })).toEqual({
      verdict: 'equal',
    })
    expect(differences(diffVerdict('postprocess', failed, { said: { ...said, o: 'ok' } }))).toMatchObject([
      { kind: 'ending', kinds: ['failed', 'ok'] },
    ])
  })

  it('takes one side for refusing by calls under way, near to the limit and only where it judged by counters of its own', () => {
    const said = { o: 'refuse', code: 'rate_limited', e: 'x', rem: 3 } as const
    const at = (slack?: { remaining: number | undefined; within: number }) =>
      diffVerdict('rate-limit', passing, { said, ...(slack ? { slack } : {}) })
    expect(at({ remaining: undefined, within: 3 })).toEqual({ verdict: 'skipped', reason: 'at-limit' })
    expect(at({ remaining: 1, within: 2 })).toEqual({ verdict: 'skipped', reason: 'at-limit' })
    expect(at({ remaining: 9, within: 2 }).verdict).toBe('differs')
    expect(at().verdict).toBe('differs')
  })

  it('skips what was not acknowledged, and what has no essence', () => {
    expect(diffVerdict('auth', passing, { said: undefined })).toEqual({
      verdict: 'skipped',
      reason: 'not-acknowledged',
    })
    expect(diffVerdict('auth', passing, { said: { o: 'pass' } })).toEqual({ verdict: 'skipped', reason: 'no-essence' })
    expect(diffVerdict('auth', undefined, { said: { o: 'pass', e: 'x' } })).toEqual({
      verdict: 'skipped',
      reason: 'no-essence',
    })
  })

  it('gives one signature to one form of difference, and others to others', () => {
    const signatures = [
      diffVerdict('auth', refusing('forbidden'), { said: { o: 'pass', e: 'x' } }),
      diffVerdict('auth', refusing('forbidden'), { said: { o: 'pass', e: 'y' } }),
      diffVerdict('auth', refusing('unauthenticated'), { said: { o: 'pass', e: 'x' } }),
      diffVerdict('rate-limit', refusing('forbidden'), { said: { o: 'pass', e: 'x' } }),
    ].map((finding) => differences(finding)[0]?.signature)
    expect(signatures[0]).toMatch(/^[0-9a-f]{16}$/)
    expect(signatures[0]).toBe(signatures[1])
    expect(new Set(signatures).size).toBe(3)
  })
})

const callOf = (tenant: string, id = 'c1') =>
  createCall({
    id,
    route: 'chat',
    now: 1,
    body: Buffer.from(JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'hi' }] })),
    headers: {},
    facts: { principal: { id: 'u', tenant, tier: 'vip', scopes: [], claims: {}, method: 'api-key' } },
    signal: new AbortController().signal,
  })
const layerOf = (name: string, essence: (tenant: string) => unknown) =>
  defineLayer({
    name,
    reads: [],
    writes: [],
    answers: false,
    rewrites: false,
    meters: false,
    routes: ['chat'],
    config: createSchema({}),
    open: () => ({}),
    native: {
      version: 1,
      step: createSchema({}),
      stateful: false,
      act: () => ({}),
      essence: (_, call) => essence(call.facts.principal?.tenant ?? ''),
      probes: [],
    },
  })

describe('a boundary', () => {
  it('compares a call in its strata and tier', () => {
    const layer = layerOf('prompt', () => 1)
    const said = { o: 'pass', e: essenceDigest(1) } as const
    const comparison = createBoundary().compare({
      layer,
      call: callOf('t'),
      verdict: pass(),
      said,
      cacheHit: false,
      at: 5,
    })
    expect(comparison).toEqual({
      layer: 'prompt',
      call: 'c1',
      tier: 'vip',
      strata: { stream: true, tools: false, json: false, size: '1k', cacheHit: false },
      at: 5,
      verdict: 'equal',
    })
  })

  it('knows a cache key that belongs to another tenant', () => {
    const boundary = createBoundary()
    const layer = layerOf('cache', (tenant) => ({ digest: `of ${tenant}` }))
    const keyOf = (tenant: string) => essenceDigest({ digest: `of ${tenant}` })
    const ask = (tenant: string, e: string) =>
      boundary.compare({ layer, call: callOf(tenant), verdict: pass(), said: { o: 'pass', e }, cacheHit: false, at: 1 })
    expect(ask('a', keyOf('a')).verdict).toBe('equal')
    expect(ask('b', keyOf('a'))).toMatchObject({ verdict: 'differs', f1: 'cross-tenant-key' })
    expect(ask('b', essenceDigest({ digest: 'nobody' }))).not.toHaveProperty('f1')
    expect(ask('c', essenceDigest({ digest: 'nobody' }))).toMatchObject({ f1: 'cross-tenant-key' })
  })

  it('takes the key of another call of the same tenant for hard, not for a fuse', () => {
    const boundary = createBoundary()
    let turn = 0
    const layer = layerOf('cache', () => ({ digest: `call ${turn}` }))
    const ask = (e: string) =>
      boundary.compare({ layer, call: callOf('a'), verdict: pass(), said: { o: 'pass', e }, cacheHit: false, at: 1 })
    expect(ask(essenceDigest({ digest: 'call 0' })).verdict).toBe('equal')
    turn = 1
    const made = ask(essenceDigest({ digest: 'call 0' }))
    expect(made).toMatchObject({ verdict: 'differs', class: 'H' })
    expect(made).not.toHaveProperty('f1')
  })

  it('does not take a reason for having no key for the key of somebody', () => {
    const boundary = createBoundary()
    const layer = layerOf('cache', (tenant) => ({ digest: `of ${tenant}` }))
    const e = essenceDigest({ reason: 'not-deterministic' })
    for (const tenant of ['a', 'b', 'c']) {
      const said = { o: 'pass', e } as const
      const made = boundary.compare({ layer, call: callOf(tenant), verdict: pass(), said, cacheHit: false, at: 1 })
      expect(made).toMatchObject({ verdict: 'differs', class: 'H' })
      expect(made).not.toHaveProperty('f1')
    }
  })

  it('has nothing to compare in a half whose essence cannot be said', () => {
    const layer = layerOf('prompt', () => {
      throw gatewayError('internal', 'no')
    })
    expect(gatewayVerdict(layer, refuse(gatewayError('forbidden', 'no')), callOf('t'))).toBeUndefined()
  })
})

describe('any two essences', () => {
  it('differ exactly when they are not the same JSON, and where they do is a place that exists', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), fc.boolean(), (one, two, same) => {
        const other = same ? structuredClone(one) : two
        const here = { ...passing, essence: one, digest: essenceDigest(one) }
        const finding = diffVerdict('prompt', here, { said: { o: 'pass', e: essenceDigest(other) }, essence: other })
        const equal = canonicalJson(one) === canonicalJson(other)
        expect(finding.verdict).toBe(equal ? 'equal' : 'differs')
        for (const { path, class: of } of differences(finding)) expect([typeof path, of]).toEqual(['string', 'H'])
      }),
      { seed: 41 },
    )
  })
})
