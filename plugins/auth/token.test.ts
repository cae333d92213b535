import { createHmac, generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createSecret, forgeToken, signHmac } from '../../test/support/jwt.ts'
import { keyFromJwk } from './keys.ts'
import { audience, bearing, goodClaims, issuer, keyNamed, openAuthRig, openJwksRig, tokenOf } from './test-host.ts'

const rsa = await keyNamed('rsa', 'RS256')
const ec = await keyNamed('ec', 'ES256')
const stranger = await keyNamed('stranger', 'RS256')

describe('a token that chooses its algorithm', () => {
  it.each(['none', 'None', 'nOnE', 'NONE', ''])('alg %j with no signature is refused', async (alg) => {
    const rig = await openJwksRig([rsa])
    for (const kid of [undefined, 'rsa']) {
      expect((await rig.refusal(bearing(forgeToken({ alg, kid }, goodClaims)))).status).toBe(401)
      expect((await rig.refusal(bearing(forgeToken({ alg, kid }, goodClaims, 'AA')))).status).toBe(401)
    }
  })

  it('an HMAC under the public key is refused, in each spelling of that key', async () => {
    const { publicPem, publicJwk } = rsa
    const fetched = await openJwksRig([rsa])
    const fixed = await openAuthRig({ jwt: { issuer, audience, keys: [{ kid: 'rsa', alg: 'RS256', pem: publicPem }] } })
    const spellings = [
      publicPem,
      publicPem.trimEnd(),
      `${publicPem}\n`,
      publicJwk.n as string,
      JSON.stringify(publicJwk),
    ]
    for (const secret of spellings) {
      for (const alg of ['HS256', 'HS384', 'HS512', 'RS256']) {
        for (const header of [{ alg }, { alg, kid: 'rsa' }]) {
          const token = signHmac(secret, goodClaims, { header })
          expect((await fetched.refusal(bearing(token))).status).toBe(401)
          expect((await fixed.refusal(bearing(token))).status).toBe(401)
        }
      }
    }
  })

  it('an RSA signature under the id of an EC key is refused, and the other way round', async () => {
    const rig = await openJwksRig([rsa, ec])
    expect((await rig.refusal(bearing(await tokenOf(rsa, {}, { kid: 'ec' })))).status).toBe(401)
    expect((await rig.refusal(bearing(await tokenOf(ec, {}, { kid: 'rsa' })))).status).toBe(401)
  })

  it('another algorithm of the same key type is refused: the key is pinned to one', async () => {
    const pss = await keyNamed('pss', 'PS256')
    const rig = await openJwksRig([{ ...pss, publicJwk: { ...pss.publicJwk, alg: 'RS256' } }])
    expect((await rig.refusal(bearing(await tokenOf(pss)))).status).toBe(401)
    const right = await openJwksRig([pss])
    expect((await right.principal(bearing(await tokenOf(pss)))).id).toBe('ada')
  })

  it('an embedded jwk, jku or x5u is not looked at', async () => {
    const rig = await openJwksRig([rsa])
    const hints = { jwk: stranger.publicJwk, jku: 'https://evil.example/keys', x5u: 'https://evil.example/cert' }
    for (const kid of ['rsa', 'stranger', undefined]) {
      expect((await rig.refusal(bearing(await tokenOf(stranger, {}, { ...hints, kid })))).status).toBe(401)
    }
    expect((await rig.principal(bearing(await tokenOf(rsa, {}, hints)))).id).toBe('ada')
    expect(new Set(rig.host.sent.map(({ url }) => url))).toEqual(new Set(['https://id.example/keys']))
  })

  it('a critical header that is not understood is refused', async () => {
    const rig = await openJwksRig([rsa])
    const [, payload, signature] = (await tokenOf(rsa)).split('.')
    const header = Buffer.from(JSON.stringify({ alg: 'RS256', kid: 'rsa', crit: ['x'], x: 1 })).toString('base64url')
    expect((await rig.refusal(bearing(`${header}.${payload}.${signature}`))).status).toBe(401)
  })

  it('a symmetric or weak member of a key set is no key', async () => {
    const secret = createSecret()
    const oct = { kty: 'oct', k: Buffer.from(secret).toString('base64url'), alg: 'HS256', kid: 'oct' }
    const rig = await openJwksRig([{ ...rsa, publicJwk: oct }])
    expect((await rig.refusal(bearing(signHmac(secret, goodClaims, { header: { kid: 'oct' } })))).status).toBe(401)
  })

  it.each([{ use: 'enc' }, { key_ops: ['sign'] }, { alg: 'RSA-OAEP' }])(
    'a member that says %j verifies nothing',
    async (more) => {
      const rig = await openJwksRig([{ ...rsa, publicJwk: { ...rsa.publicJwk, ...more } }])
      expect((await rig.refusal(bearing(await tokenOf(rsa)))).status).toBe(401)
    },
  )

  it('a fetched RSA key that states no algorithm has the configured one only', async () => {
    const bare = [{ ...rsa, publicJwk: { ...rsa.publicJwk, alg: undefined } }]
    expect((await (await openJwksRig(bare)).principal(bearing(await tokenOf(rsa)))).id).toBe('ada')
    const other = await openJwksRig(bare, { rsaAlgorithm: 'PS256' })
    expect((await other.refusal(bearing(await tokenOf(rsa)))).status).toBe(401)
  })

  it('an RSA key under 2,048 bits is refused in the configuration and ignored in a key set', async () => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
    const pem = publicKey.export({ type: 'spki', format: 'pem' })
    const weak = { jwt: { issuer, audience, keys: [{ alg: 'RS256', pem }] } }
    await expect(openAuthRig(weak)).rejects.toThrow(/too weak/)
    expect(keyFromJwk(publicKey.export({ format: 'jwk' }), 'RS256')).toBeUndefined()
  })

  it('a shared secret verifies when it is configured as one', async () => {
    const secret = 'an HS256 secret of 32 bytes or so'
    const keys = [{ kid: 'hs', alg: 'HS256', secretFile: 'hs' }]
    const rig = await openAuthRig({ jwt: { issuer, audience, keys } }, { files: { hs: `${secret}\n` } })
    expect((await rig.principal(bearing(signHmac(secret, goodClaims)))).id).toBe('ada')
    expect((await rig.refusal(bearing(signHmac(`${secret}\n`, goodClaims)))).status).toBe(401)
    expect((await rig.refusal(bearing(signHmac(secret, goodClaims, { header: { alg: 'HS512' } })))).status).toBe(401)
  })
})

describe('each kind of key', () => {
  it.each(['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA'] as const)('%s verifies, fetched or fixed', async (alg) => {
    const key = await keyNamed(`kind-${alg}`, alg)
    const token = bearing(await tokenOf(key, { tenant: 't1', tier: 'vip' }))
    const fixed = [
      { alg, pem: key.publicPem },
      { alg, jwk: key.publicJwk },
      { alg, file: 'key' },
    ]
    const files = { key: `${JSON.stringify(key.publicJwk)}\n` }
    const rigs = [await openJwksRig([key]), await openAuthRig({ jwt: { issuer, audience, keys: fixed } }, { files })]
    for (const rig of rigs) expect(await rig.principal(token)).toMatchObject({ id: 'ada', tenant: 't1', tier: 'vip' })
  })
})

describe('claims', () => {
  const now = 1_700_000_000
  it.each([
    ['another issuer', { iss: 'https://id.example/' }],
    ['no issuer', { iss: undefined }],
    ['another audience', { aud: 'other' }],
    ['an audience that only contains ours', { aud: 'gateway2' }],
    ['a list without our audience', { aud: ['a', 'b'] }],
    ['no exp', { exp: undefined }],
    ['exp as text', { exp: String(now + 60) }],
    ['exp before the leeway', { exp: now - 31 }],
    ['nbf after the leeway', { nbf: now + 31 }],
    ['nbf as text', { nbf: 'now' }],
    ['no subject', { sub: undefined }],
    ['an empty subject', { sub: '' }],
    ['a tenant that is an object', { tenant: { id: 't1' } }],
    ['an empty tenant', { tenant: '' }],
    ['a tier that is a list', { tier: ['vip'] }],
  ])('%s is refused', async (_what, claims) => {
    const rig = await openJwksRig([ec])
    expect((await rig.refusal(bearing(await tokenOf(ec, claims)))).status).toBe(401)
  })

  it('an exp beyond all numbers is refused', async () => {
    const secret = 'an HS256 secret of 32 bytes or so'
    const keys = [{ alg: 'HS256', secretFile: 'hs' }]
    const rig = await openAuthRig({ jwt: { issuer, audience, keys } }, { files: { hs: secret } })
    const token = (exp: string): string => {
      const payload = JSON.stringify({ ...goodClaims, exp: 0 }).replace('"exp":0', `"exp":${exp}`)
      const parts = ['{"alg":"HS256"}', payload].map((part) => Buffer.from(part).toString('base64url')).join('.')
      return `${parts}.${createHmac('sha256', secret).update(parts).digest('base64url')}`
    }
    expect((await rig.principal(bearing(token('9e9')))).id).toBe('ada')
    expect((await rig.refusal(bearing(token('9e999')))).status).toBe(401)
  })

  it.each([
    ['our audience in a list', { aud: ['a', 'gateway'] }],
    ['exp within the leeway', { exp: now - 29 }],
    ['nbf within the leeway', { nbf: now + 29 }],
  ])('%s passes', async (_what, claims) => {
    const rig = await openJwksRig([ec])
    expect((await rig.principal(bearing(await tokenOf(ec, claims)))).id).toBe('ada')
  })

  it('named claims become the principal, others do not', async () => {
    const fields = { jwt_payload_fields: ['user_id', 'org', 'gone', '__proto__'] }
    const names = { idClaim: 'user_id', tenantClaim: 'org.slug', tierClaim: 'https://x.example/tier' }
    const rig = await openJwksRig([ec], names, fields)
    const claims = { user_id: 7, org: { slug: 'acme' }, 'https://x.example/tier': 'vip', secret: 's' }
    expect(await rig.principal(bearing(await tokenOf(ec, claims)))).toEqual({
      id: '7',
      tenant: 'acme',
      tier: 'vip',
      scopes: [],
      claims: { user_id: 7, org: { slug: 'acme' } },
      method: 'jwt',
    })
  })

  it('a token without a tenant belongs to the default one, else to one of its own', async () => {
    const own = await openJwksRig([ec])
    expect((await own.principal(bearing(await tokenOf(ec)))).tenant).toBe('sub:ada')
    const shared = await openJwksRig([ec], { defaultTenant: 'acme', defaultTier: 'std' })
    expect(await shared.principal(bearing(await tokenOf(ec)))).toMatchObject({ tenant: 'acme', tier: 'std' })
  })

  it('a token of another type is refused where a type is asked for', async () => {
    const rig = await openJwksRig([ec], { typ: 'at+jwt' })
    expect((await rig.refusal(bearing(await tokenOf(ec)))).status).toBe(401)
    expect((await rig.principal(bearing(await tokenOf(ec, {}, { typ: 'at+jwt' })))).id).toBe('ada')
  })
})
