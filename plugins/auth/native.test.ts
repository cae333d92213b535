import { describe, expect, it } from 'vitest'
import { createTestHost, type TestHost } from '../../test/support/host.ts'
import { signHmac } from '../../test/support/jwt.ts'
import { type Call, createCall, type Facts } from '../call.ts'
import { canonicalJson } from '../canonical.ts'
import type { FoldSource, Seat } from '../host.ts'
import type { Acting } from '../layer.ts'
import type { Verdict } from '../verdict.ts'
import { auth } from './index.ts'
import type { AuthStep } from './step.ts'
import { audience, bearing, goodClaims, hexHash, issuer, jwksUrl, keyNamed, publish, tokenOf } from './test-host.ts'

const native = auth.native!
const shared = 'a shared secret of more than thirty-two bytes'
const ci = { id: 'ci', hash: hexHash('fg_one'), tenant: 't1', scopes: ['b', 'a'], claims: { team: 'x' } }
const onFile = { id: 'cd', hashFile: 'secrets/cd.sha256', tenant: 't1' }

/** Files as the gateway has them, by path; the runner has the secret ones by bare name. */
async function filesOf(): Promise<Record<string, string>> {
  const { publicPem, publicJwk } = await keyNamed('rsa', 'RS256')
  return {
    'keys/rsa.pem': publicPem,
    'keys/rsa.jwk': JSON.stringify({ ...publicJwk, x5c: ['MII'] }),
    'secrets/hs.key': `${shared}\n`,
    'secrets/cd.sha256': `${hexHash('fg_two')}\n`,
    'secrets/profile.token': 'a token of the profile service',
  }
}
const bare = (path: string): string => path.split('/').at(-1) as string
const sourceOf = (files: Readonly<Record<string, string>>): FoldSource => ({
  declared: new Set(),
  conversationHeader: 'x-conversation-id',
  file(path) {
    if (path.startsWith('secrets/')) throw new Error(`a secret was read: ${path}`)
    return Buffer.from(files[path] as string)
  },
  secret: bare,
})
const fold = async (config: object): Promise<AuthStep> =>
  auth.fold!(auth.config.parse(config), sourceOf(await filesOf()))
const seatOf = (host: TestHost, has = true, allows = true): Seat => ({ ...host, has: () => has, allows: () => allows })

const full = {
  jwt: {
    issuer,
    audience: [audience],
    jwksUrl,
    keys: [
      { alg: 'RS256', file: 'keys/rsa.pem' },
      { kid: 'hs', alg: 'HS256', secretFile: 'secrets/hs.key' },
    ],
    tenantClaim: 'org',
  },
  apiKeys: [ci, onFile],
  required_scopes: [],
  jwt_payload_fields: ['plan'],
  profile: { kind: 'http', url: 'https://profiles.example/{id}', tokenFile: 'secrets/profile.token', fields: ['seat'] },
}

describe('the step', () => {
  it('is the same for the same configuration, and survives JSON and its own schema', async () => {
    for (const config of [full, { apiKeys: [ci] }, { anonymous: { tenant: 'public' } }, { jwt: full.jwt }]) {
      const step = await fold(config)
      expect(canonicalJson(await fold(structuredClone(config)))).toBe(canonicalJson(step))
      const travelled = JSON.parse(JSON.stringify(step))
      expect(travelled).toEqual(step)
      expect(native.step.faults(travelled)).toEqual([])
      expect(native.step.parse(travelled)).toEqual(step)
    }
  })

  it('names secrets and holds none, and of public keys only what is public', async () => {
    const files = await filesOf()
    const text = JSON.stringify(await fold(full))
    for (const [path, content] of Object.entries(files)) {
      if (path.startsWith('secrets/')) expect(text).not.toContain(content.trim())
    }
    for (const name of ['hs.key', 'cd.sha256', 'profile.token']) expect(text).toContain(`"${name}"`)
    const byPem = await fold({ jwt: { ...full.jwt, keys: [{ alg: 'RS256', file: 'keys/rsa.pem' }] } })
    const byJwk = await fold({ jwt: { ...full.jwt, keys: [{ alg: 'RS256', file: 'keys/rsa.jwk' }] } })
    expect(byPem).toEqual(byJwk)
    expect(Object.keys(byPem.jwt?.keys[0]?.jwk ?? {}).sort()).toEqual(['e', 'kty', 'n'])
  })

  it('is strict: a member more, a member less, or a path in place of a name is a fault with its path', async () => {
    const step = await fold(full)
    const faults = (change: object) => native.step.faults({ ...step, ...change }).map(({ path }) => path)
    expect(faults({ more: 1 })).toEqual(['more'])
    expect(faults({ required_scopes: undefined })).toEqual(['required_scopes'])
    expect(faults({ jwt: { ...step.jwt, leewayMs: undefined } })).toEqual(['jwt.leewayMs'])
    expect(faults({ apiKeys: [{ ...step.apiKeys[1], hashFile: '../cd.sha256' }] })).toEqual(['apiKeys[0].hashFile'])
  })

  it('a private key is never folded', async () => {
    const { privatePem } = await keyNamed('rsa', 'RS256')
    const config = auth.config.parse({ jwt: { ...full.jwt, keys: [{ alg: 'RS256', pem: privatePem }] } })
    expect(() => auth.fold!(config, sourceOf({}))).toThrow(expect.objectContaining({ code: 'config_invalid' }))
  })
})

describe('what keeps auth in the gateway', () => {
  const stays = (config: object) => auth.stays?.(auth.config.parse(config))

  it('is said in words', () => {
    expect(stays({ trustedHop: { idHeader: 'x-user' } })).toContain('trustedHop')
    expect(stays({ clientCertificates: [{ name: 'CN:edge', tenant: 't' }] })).toContain('clientCertificates')
    expect(stays({ jwt: { issuer, audience, jwksUrl: 'https://me:pw@id.example/keys' } })).toContain('jwksUrl')
    expect(stays({ apiKeys: [ci], profile: { kind: 'http', url: 'https://me:pw@p.example/{id}' } })).toContain(
      'profile.url',
    )
    expect(stays(full)).toBeUndefined()
  })

  it('is refused by a runner that is asked all the same', async () => {
    const step = { ...(await fold({ apiKeys: [ci] })), clientCertificates: [{ name: 'CN:a' }] } as never
    const said = native.inspect?.(step, seatOf(createTestHost()))
    expect(said).toMatchObject({ status: 'refused', code: 'UNSUPPORTED_KEYWORD', path: 'clientCertificates' })
  })
})

describe('what a runner must have', () => {
  it('is told with the path of the step and a way out', async () => {
    const step = await fold(full)
    const host = createTestHost()
    expect(native.inspect?.(step, seatOf(host))).toEqual({ status: 'compiled' })
    expect(native.inspect?.(step, seatOf(host, true, false))).toEqual({
      status: 'refused',
      code: 'EGRESS_DENIED',
      value: 'id.example',
      path: 'jwt.jwksUrl',
      try: 'start the runner with --egress id.example',
    })
    const seat = { ...seatOf(host), allows: (url: string) => url === jwksUrl }
    expect(native.inspect?.(step, seat)).toMatchObject({ code: 'EGRESS_DENIED', path: 'profile.url' })
    for (const [name, path] of [
      ['hs.key', 'jwt.keys[1].secretFile'],
      ['cd.sha256', 'apiKeys[1].hashFile'],
      ['profile.token', 'profile.tokenFile'],
    ]) {
      const without = { ...seatOf(host), has: (secret: string) => secret !== name }
      expect(native.inspect?.(step, without)).toMatchObject({ code: 'UNRESOLVED_REF', value: name, path })
    }
    const redis = await fold({ apiKeys: [ci], profile: { kind: 'redis' } })
    expect(native.inspect?.(redis, seatOf(host))).toMatchObject({ code: 'UNRESOLVED_REF', path: 'profile.kind' })
  })

  it('credentials travel only where something verifies them', async () => {
    expect(native.credentials?.(await fold({ anonymous: true }))).toEqual([])
    expect(native.credentials?.(await fold({ apiKeys: [ci], credentialHeaders: ['x-api-key'] }))).toEqual(['x-api-key'])
  })
})

const callAt = (host: TestHost, headers: Readonly<Record<string, string>>, facts: Partial<Facts> = {}): Call =>
  createCall({
    id: '0'.repeat(32),
    route: 'chat',
    now: host.clock.now(),
    body: Buffer.from('{}'),
    headers,
    facts,
    signal: new AbortController().signal,
  })

describe('the half at the runner', () => {
  it('says of every credential what the gateway says', async () => {
    const files = await filesOf()
    const key = await keyNamed('k1')
    const rsa = await keyNamed('rsa', 'RS256')
    const gateway = createTestHost({ files })
    const runner = createTestHost({
      files: Object.fromEntries(Object.entries(files).map(([path, content]) => [bare(path), content])),
      side: 'runner',
    })
    for (const host of [gateway, runner]) {
      publish(host, key)
      host.answers.set('https://profiles.example/ada', () => ({ body: Buffer.from('{"tier":"vip","seat":7}') }))
      host.answers.set('https://profiles.example/ci', () => ({ status: 404 }))
    }
    const here = (await auth.open(auth.config.parse(full), gateway)) as Acting
    const there = (await native.act(await fold(full), seatOf(runner))) as Acting
    const credentials = [
      'fg_one',
      'fg_two',
      'fg_three',
      await tokenOf(key, { org: 'acme', scope: 'z y', plan: 'gold' }),
      await tokenOf(rsa, {}, { kid: undefined }),
      signHmac(shared, goodClaims, { header: { kid: 'hs' } }),
      await tokenOf(key, { exp: 1 }),
      await tokenOf(await keyNamed('k2')),
      'a.b.c',
    ]
    const essences: string[] = []
    for (const credential of credentials) {
      const call = callAt(gateway, bearing(credential))
      const [first, second] = [await here.decide?.(call, 'enforce'), await there.decide?.(call, 'observe')]
      const said = canonicalJson(native.essence?.(first as Verdict, call))
      expect(canonicalJson(native.essence?.(second as Verdict, call))).toBe(said)
      essences.push(said)
    }
    expect(essences.filter((each) => each.includes('"pass"'))).toHaveLength(4)
    expect(JSON.parse(essences[3] as string).principal).toEqual({
      id: 'ada',
      tenant: 'acme',
      tier: 'vip',
      scopes: ['y', 'z'],
      claims: { plan: 'gold', seat: 7 },
    })
    expect(runner.counts.get('auth.refused')).toBeUndefined()
    await Promise.all([here.close?.(), there.close?.()])
  })

  it('fetches no key set anew for a caller that asks for scopes', async () => {
    const host = createTestHost()
    const key = await keyNamed('k1')
    publish(host, key)
    const step = await fold({ jwt: { issuer, audience, jwksUrl } })
    const token = await tokenOf(key, { scope: 'a' })
    const asked = ['a', 'b', 'c'].map((scope) => auth.tighten!(step, { auth: { required_scopes: [scope] } }))
    const halves = await Promise.all([step, ...asked].map((each) => native.act(each, seatOf(host))))
    const said = []
    for (const half of halves) said.push((await half.decide?.(callAt(host, bearing(token)), 'enforce')) as Verdict)
    expect(said.map(({ kind }) => kind)).toEqual(['pass', 'pass', 'refuse', 'refuse'])
    expect(host.sent).toHaveLength(1)
    for (const half of halves.slice(0, 3)) {
      await half.close?.()
      await half.close?.()
    }
    const joining = await native.act(step, seatOf(host))
    await joining.decide?.(callAt(host, bearing(token)), 'enforce')
    expect(host.sent).toHaveLength(1)
    await Promise.all([halves[3]?.close?.(), joining.close?.()])
    // Nobody uses it any more, so the next one opens its own.
    const later = await native.act(step, seatOf(host))
    await later.decide?.(callAt(host, bearing(token)), 'enforce')
    expect(host.sent).toHaveLength(2)
    await later.close?.()
  })

  it('in the gateway a tightened step still knows callers by a trusted hop', async () => {
    const host = createTestHost()
    const step = await fold({ trustedHop: { idHeader: 'x-user', scopesHeader: 'x-scopes' } })
    const half = (await native.act(auth.tighten!(step, { auth: { required_scopes: ['a'] } }), seatOf(host))) as Acting
    const ask = (scopes: string) =>
      half.decide?.(callAt(host, { 'x-user': 'ada', 'x-scopes': scopes }, { peer: '127.0.0.1' }), 'enforce')
    expect(await ask('a b')).toMatchObject({ kind: 'pass' })
    expect(await ask('b')).toMatchObject({ kind: 'refuse', error: { code: 'forbidden' } })
  })
})

describe('the probes', () => {
  it.each(native.probes)('$title', async ({ step, body, headers = {}, expect: expected }) => {
    expect(native.step.faults(step)).toEqual([])
    const seat = seatOf(createTestHost({ side: 'runner' }), false, false)
    expect(native.inspect?.(step, seat)).toEqual({ status: 'compiled' })
    const half = (await native.act(step, seat)) as Acting
    const call = createCall({
      id: '0'.repeat(32),
      route: 'chat',
      now: 1_900_000_000_000,
      body: Buffer.from(JSON.stringify(body)),
      headers,
      facts: {},
      signal: new AbortController().signal,
    })
    const verdict = (await half.decide?.(call, 'observe')) as Verdict
    expect(verdict.kind).toBe(expected.o)
    if (verdict.kind === 'refuse') expect(verdict.error.code).toBe(expected.code)
  })

  it('refuse each for a reason of its own', async () => {
    const causes: unknown[] = []
    for (const { step, headers = {}, expect: expected } of native.probes) {
      if (expected.o !== 'refuse') continue
      const host = createTestHost()
      host.clock.advance(1_900_000_000_000 - host.clock.now())
      const half = (await native.act(step, seatOf(host))) as Acting
      const verdict = await half.decide?.(callAt(host, headers), 'observe')
      if (verdict?.kind === 'refuse') causes.push(verdict.error.detail.cause ?? verdict.error.code)
    }
    expect(causes).toEqual([
      'malformed',
      'no-credential',
      'ambiguous-credential',
      'expired',
      'claims',
      'claims',
      'signature',
      'algorithm',
      'forbidden',
    ])
  })
})
