import { describe, expect, it } from 'vitest'
import { createCall } from '../call.ts'
import { GatewayError } from '../errors.ts'
import { through } from '../stack.ts'
import { auth } from './index.ts'
import {
  audience,
  bearing,
  hexHash,
  issuer,
  jwksUrl,
  keyNamed,
  openAuthRig,
  openJwksRig,
  tokenOf,
} from './test-host.ts'

const ci = { id: 'ci', hash: hexHash('fg_secret-one'), tenant: 't1', tier: 'free', scopes: ['read:orders'] }

const faultsOf = async (config: unknown, files: Record<string, string> = {}): Promise<string[]> => {
  try {
    await openAuthRig(config, { files })
    return []
  } catch (reason) {
    return ((reason as GatewayError).detail.faults ?? []).map((fault) => fault.path)
  }
}

describe('who a call is from', () => {
  it('an API key names its caller in any of the three headers', async () => {
    const rig = await openAuthRig({ apiKeys: [ci] })
    const spellings: Record<string, string>[] = [
      bearing('fg_secret-one'),
      { authorization: 'bearer  fg_secret-one' },
      { 'x-api-key': 'fg_secret-one' },
      { 'api-key': 'fg_secret-one' },
    ]
    for (const headers of spellings) {
      expect(await rig.principal(headers)).toEqual({
        id: 'ci',
        tenant: 't1',
        tier: 'free',
        scopes: ['read:orders'],
        claims: {},
        method: 'api-key',
      })
    }
  })

  it('only the configured headers are looked at', async () => {
    const rig = await openAuthRig({ apiKeys: [ci], credentialHeaders: ['x-api-key'], anonymous: true })
    expect((await rig.principal(bearing('fg_secret-one'))).method).toBe('anonymous')
    expect((await rig.principal({ 'x-api-key': 'fg_secret-one' })).id).toBe('ci')
  })

  it('a credential that comes twice is refused, equal or not', async () => {
    const rig = await openAuthRig({ apiKeys: [ci] })
    const twice: Record<string, string>[] = [
      { ...bearing('fg_secret-one'), 'x-api-key': 'fg_secret-one' },
      { ...bearing('fg_secret-one'), 'api-key': 'other' },
      { 'x-api-key': 'fg_secret-one, fg_secret-one' },
      { authorization: 'Bearer fg_secret-one, Bearer fg_secret-one' },
    ]
    for (const headers of twice) {
      const error = await rig.refusal(headers)
      expect([error.status, error.detail.cause]).toEqual([401, 'ambiguous-credential'])
    }
  })

  it('nobody is anonymous unless configured, and never by a wrong credential', async () => {
    expect((await (await openAuthRig({ apiKeys: [ci] })).refusal({})).status).toBe(401)
    const open = await openAuthRig({ apiKeys: [ci], anonymous: { tenant: 'public', tier: 'low' } })
    expect(await open.principal({})).toMatchObject({ id: 'anonymous', tenant: 'public', tier: 'low' })
    for (const headers of [bearing('wrong'), { authorization: 'Basic YTpi' }, { authorization: 'Bearer' }]) {
      expect((await open.refusal(headers)).status).toBe(401)
    }
  })

  it('where nothing verifies credentials, they are not judged', async () => {
    const rig = await openAuthRig({ anonymous: true })
    expect((await rig.principal(bearing('sk-any'))).method).toBe('anonymous')
  })
})

describe('scopes', () => {
  it('a missing scope is a 403 that names it and not the credential', async () => {
    const rig = await openAuthRig({ apiKeys: [ci], required_scopes: ['read:orders', 'write:orders'] })
    const error = await rig.refusal(bearing('fg_secret-one'))
    expect([error.code, error.message]).toEqual(['forbidden', 'required scope is missing: "write:orders"'])
    expect(error.detail.headers?.['www-authenticate']).toContain('insufficient_scope')
    expect(JSON.stringify([error.message, error.detail])).not.toContain('fg_secret-one')
  })

  it('scopes come from scope, scopes or scp', async () => {
    const key = await keyNamed('k1')
    const rig = await openJwksRig([key], {}, { required_scopes: ['b'] })
    for (const claims of [{ scope: 'a b' }, { scopes: ['a', 'b'] }, { scp: ['b'] }, { scp: 'b c' }]) {
      expect((await rig.principal(bearing(await tokenOf(key, claims)))).scopes).toContain('b')
    }
    for (const claims of [{}, { scope: 'bb' }, { scopes: { b: true } }, { scope: ['x'], scopes: ['b'] }]) {
      expect((await rig.refusal(bearing(await tokenOf(key, claims)))).status).toBe(403)
    }
  })
})

describe('what a refusal tells', () => {
  it('the same words and headers whatever is wrong', async () => {
    const key = await keyNamed('k1')
    const rig = await openJwksRig([key], {}, { apiKeys: [ci] })
    const errors = [
      await rig.refusal({}),
      await rig.refusal(bearing('fg_unknown-key')),
      await rig.refusal(bearing(await tokenOf(key, { exp: 1 }))),
      await rig.refusal(bearing(await tokenOf(await keyNamed('k2')))),
      await rig.refusal(bearing('a.b.c')),
    ]
    const said = errors.map(({ code, message, detail }) => JSON.stringify([code, message, detail.headers]))
    expect(new Set(said)).toEqual(
      new Set(['["unauthenticated","the credential is missing or not valid",{"www-authenticate":"Bearer"}]']),
    )
    expect(errors.map((error) => error.detail.cause)).toEqual([
      'no-credential',
      'malformed',
      'expired',
      'unknown-key',
      'malformed',
    ])
  })

  it('refusals are counted when the layer enforces, and only then', async () => {
    const rig = await openAuthRig({ apiKeys: [ci] })
    await rig.decide({}, {}, 'observe')
    expect(rig.host.counts.get('auth.refused')).toBeUndefined()
    await rig.decide({})
    expect(rig.host.counts.get('auth.refused')).toBe(1)
  })

  it('through the loop a refused call never reaches what is inside', async () => {
    const rig = await openAuthRig({ apiKeys: [ci] })
    let ran = 0
    const call = createCall({
      id: 'a',
      route: 'models',
      now: 0,
      body: Buffer.alloc(0),
      headers: bearing('fg_other'),
      facts: {},
      signal: new AbortController().signal,
    })
    const inside = async (): Promise<never> => {
      ran++
      throw new Error('inside')
    }
    const seats = [{ name: 'auth', acting: rig.acting, mode: 'enforce' as const }]
    await expect(through(seats, call, { inside, witness: { heard() {} } })).rejects.toMatchObject({
      code: 'unauthenticated',
    })
    expect(ran).toBe(0)
  })
})

describe('configuration', () => {
  it('says every fault at once, with its path', async () => {
    const config = {
      jwt: { issuer, audience, jwksUrl: 'http://id.example/keys', keys: [{ alg: 'HS256', secretFile: 'short' }] },
      apiKeys: [ci, { ...ci, id: 'twin' }, { id: 'x', tenant: 't', hashFile: 'gone' }, { id: 'y', tenant: 't' }],
      profile: { kind: 'http', url: 'https://{tenant}.example/{id}', tokenFile: 'gone' },
    }
    expect(await faultsOf(config, { short: 'too short\n' })).toEqual([
      'apiKeys[1]',
      'apiKeys[2].hashFile',
      'apiKeys[3]',
      'jwt.jwksUrl',
      'jwt.keys[0]',
      'profile.url',
      'profile.tokenFile',
    ])
  })

  it('a section that lets nobody pass is a fault', async () => {
    expect(await faultsOf({})).toEqual([''])
    expect(await faultsOf({ anonymous: true })).toEqual([])
  })

  it('a public key is never taken for a shared secret', async () => {
    const { publicPem, privatePem } = await keyNamed('rsa', 'RS256')
    const files = { pem: publicPem, private: privatePem }
    const jwt = (key: object) => ({ jwt: { issuer, audience, keys: [key] } })
    expect(await faultsOf(jwt({ alg: 'HS256', secretFile: 'pem' }), files)).toEqual(['jwt.keys[0]'])
    expect(await faultsOf(jwt({ alg: 'HS256', pem: publicPem }), files)).toEqual(['jwt.keys[0]'])
    expect(await faultsOf(jwt({ alg: 'ES256', file: 'pem' }), files)).toEqual(['jwt.keys[0]'])
    expect(await faultsOf(jwt({ alg: 'RS256', file: 'private' }), files)).toEqual(['jwt.keys[0]'])
    expect(await faultsOf(jwt({ alg: 'RS256', file: 'pem' }), files)).toEqual([])
  })

  it('an unknown key of the section is refused with its path', () => {
    const parse = (value: unknown) => () => auth.config.parse(value)
    expect(parse({ jwt: { issuer, audience, jwksUrl, leeway: 3 } })).toThrow(/jwt\.leeway: unknown key/)
    expect(parse({ apiKeys: [{ id: 'a', tenant: 't', key: 'k' }] })).toThrow(/apiKeys\[0\]\.key: unknown key/)
    expect(parse({ jwt: { issuer } })).toThrow(/jwt\.audience: is required/)
  })

  it('every setting has a description', () => {
    const bare: string[] = []
    const walk = (schema: Record<string, any>, path: string): void => {
      for (const [name, each] of Object.entries((schema['properties'] ?? {}) as Record<string, any>)) {
        if (!each.description) bare.push(`${path}${name}`)
        walk(each, `${path}${name}.`)
        if (each.items) walk(each.items, `${path}${name}[].`)
      }
    }
    walk(auth.config.json, '')
    expect(bare).toEqual([])
  })
})

it('nothing but a GatewayError leaves decide, whatever the headers hold', async () => {
  const key = await keyNamed('k1')
  const rig = await openJwksRig([key], {}, { apiKeys: [ci] })
  const good = await tokenOf(key)
  const oddities = [
    '',
    '.',
    '..',
    '...',
    'e30.e30.e30',
    `${good}.`,
    `.${good}`,
    good.slice(1),
    'x'.repeat(20_000),
    '😀',
    '\0',
  ]
  for (const text of [...oddities, ...[0, 1, 2].map((i) => good.split('.').with(i, '!!').join('.'))]) {
    const verdict = await rig.decide(bearing(text))
    expect(verdict.kind).toBe('refuse')
    if (verdict.kind === 'refuse') expect(verdict.error).toBeInstanceOf(GatewayError)
  }
})
