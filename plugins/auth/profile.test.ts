import { describe, expect, it } from 'vitest'
import { createGate } from '../../test/support/gate.ts'
import { createTestHost } from '../../test/support/host.ts'
import { bearing, hexHash, openAuthRig } from './test-host.ts'

const key = (id: string, tenant = 't1') => ({ id, hash: hexHash(`fg_${id}`), tenant, tier: 'free', scopes: ['a'] })
const apiKeys = [key('ada'), key('bob'), key('a/..%2f?x', 'te nant'), key('..')]
const http = { kind: 'http', url: 'https://people.example/{tenant}/{id}', fields: ['plan'] }
const adasUrl = 'https://people.example/t1/ada'
const document = (value: unknown) => () => ({ body: Buffer.from(JSON.stringify(value)) })

describe('a profile', () => {
  it('adds tier, scopes and the named members', async () => {
    const entries = { ada: { tier: 'vip', scopes: 'b c', plan: 'gold', secret: 's', tenant: 'other' } }
    const rig = await openAuthRig({ apiKeys, profile: { kind: 'static', entries, fields: ['plan'] } })
    expect(await rig.principal(bearing('fg_ada'))).toEqual({
      id: 'ada',
      tenant: 't1',
      tier: 'vip',
      scopes: ['a', 'b', 'c'],
      claims: { plan: 'gold' },
      method: 'api-key',
    })
    expect(await rig.principal(bearing('fg_bob'))).toMatchObject({ tier: 'free', scopes: ['a'], claims: {} })
  })

  it('may give the scope that is required', async () => {
    const config = { apiKeys, required_scopes: ['b'] }
    const rig = await openAuthRig({ ...config, profile: { kind: 'static', entries: { ada: { scopes: ['b'] } } } })
    expect((await rig.principal(bearing('fg_ada'))).id).toBe('ada')
    expect((await rig.refusal(bearing('fg_bob'))).status).toBe(403)
  })
})

describe('over HTTP', () => {
  it('is asked for once a caller and cacheMs, and answered without a promise meanwhile', async () => {
    const config = { ...http, cacheMs: 10_000, tokenFile: 'token' }
    const rig = await openAuthRig({ apiKeys, profile: config }, { files: { token: 'hush\n' } })
    rig.host.answers.set(adasUrl, document({ tier: 'vip', plan: 'gold' }))
    expect(await rig.principal(bearing('fg_ada'))).toMatchObject({ tier: 'vip', claims: { plan: 'gold' } })
    expect(rig.host.sent[0]?.request.headers?.['authorization']).toBe('Bearer hush')
    rig.host.answers.set(adasUrl, document({ tier: 'pro' }))
    rig.host.clock.advance(9_999)
    expect(rig.decide(bearing('fg_ada'))).toMatchObject({ facts: { principal: { tier: 'vip' } } })
    rig.host.clock.advance(1)
    expect((await rig.principal(bearing('fg_ada'))).tier).toBe('pro')
    expect(rig.host.sent).toHaveLength(2)
  })

  it('is asked for once by calls that come together', async () => {
    const rig = await openAuthRig({ apiKeys, profile: http })
    const gate = createGate()
    rig.host.answers.set(adasUrl, async () => {
      await gate.opened
      return { body: Buffer.from('{"tier":"vip"}') }
    })
    const asking = Promise.all([1, 2, 3].map(() => rig.principal(bearing('fg_ada'))))
    gate.open()
    expect((await asking).map(({ tier }) => tier)).toEqual(['vip', 'vip', 'vip'])
    expect(rig.host.sent).toHaveLength(1)
  })

  it('that has none changes nothing', async () => {
    const rig = await openAuthRig({ apiKeys, profile: http })
    rig.host.answers.set(adasUrl, () => ({ status: 404 }))
    expect((await rig.principal(bearing('fg_ada'))).tier).toBe('free')
  })

  it.each([
    ['an error', () => ({ status: 500 })],
    ['no JSON', () => ({ body: Buffer.from('<html>') })],
    ['a list', document([])],
    ['nothing at all', undefined],
  ])('that fails with %s is a 503, or is gone without, as configured', async (_what, answer) => {
    for (const onFailure of ['refuse', 'ignore']) {
      const rig = await openAuthRig({ apiKeys, profile: { ...http, onFailure } })
      if (answer) rig.host.answers.set(adasUrl, answer)
      if (onFailure === 'refuse') expect((await rig.refusal(bearing('fg_ada'))).status).toBe(503)
      else expect((await rig.principal(bearing('fg_ada'))).tier).toBe('free')
      await rig.decide(bearing('fg_ada'))
      expect(rig.host.sent).toHaveLength(1)
      rig.host.answers.set(adasUrl, document({ tier: 'vip' }))
      rig.host.clock.advance(1_000)
      expect((await rig.principal(bearing('fg_ada'))).tier).toBe('vip')
    }
  })

  it('keeps an odd id inside its own path', async () => {
    const rig = await openAuthRig({ apiKeys, profile: { ...http, onFailure: 'ignore' } })
    await rig.principal(bearing('fg_a/..%2f?x'))
    await rig.principal(bearing('fg_..'))
    expect(rig.host.sent.map(({ url }) => url)).toEqual(['https://people.example/te%20nant/a%2F..%252f%3Fx'])
  })

  it('is not asked for callers that are anonymous', async () => {
    const rig = await openAuthRig({ apiKeys, anonymous: true, profile: http })
    expect((await rig.principal({})).method).toBe('anonymous')
    expect(rig.host.sent).toHaveLength(0)
  })
})

describe('in Redis', () => {
  const open = async (hashes: Record<string, Record<string, string>>, up = true) => {
    const asked: string[] = []
    const store = Object.assign(Object.create(createTestHost().store), {
      kind: 'redis',
      up: () => up,
      hash: async (name: string) => {
        asked.push(name)
        return hashes[name]
      },
    })
    const twins = [...apiKeys, key('c:d', 'b'), key('d', 'b:c')]
    const profile = { kind: 'redis', key: 'profile:{tenant}:{id}', fields: ['plan'] }
    return { asked, rig: await openAuthRig({ apiKeys: twins, profile }, { store }) }
  }

  it('is a hash', async () => {
    const { rig } = await open({ 'profile:t1:ada': { tier: 'vip', scopes: 'b c', plan: 'gold' } })
    const principal = await rig.principal(bearing('fg_ada'))
    expect(principal).toMatchObject({ tier: 'vip', scopes: ['a', 'b', 'c'], claims: { plan: 'gold' } })
    expect((await rig.principal(bearing('fg_bob'))).tier).toBe('free')
  })

  it('is never that of a caller whose names only look alike', async () => {
    const { rig, asked } = await open({})
    await rig.principal(bearing('fg_c:d'))
    await rig.principal(bearing('fg_d'))
    expect(asked).toEqual(['profile:b:c%3Ad', 'profile:b%3Ac:d'])
  })

  it('that is away is a failure, not an empty profile', async () => {
    const { rig } = await open({}, false)
    expect((await rig.refusal(bearing('fg_ada'))).status).toBe(503)
  })

  it('needs a Redis store', async () => {
    await expect(openAuthRig({ apiKeys, profile: { kind: 'redis' } })).rejects.toThrow(/profile\.kind/)
  })
})
