import { createPrivateKey, createPublicKey } from 'node:crypto'
import fc from 'fast-check'
import { CompactSign, compactVerify } from 'jose'
import { describe, expect, it } from 'vitest'
import { ed25519Pem, pairKey, secretKey } from './execution-context.support.ts'
import { signJws, verifyJws } from './jws.ts'
import { createKeyRing, createSigningKey, createVerifyingKey, type SigningKey } from './jws-key.ts'

const typ = 'exec-ctx+jws'
const payload = JSON.stringify({ hello: 'wörld' })
const [first, second] = [secretKey('k1', 1), secretKey('k2', 2)]
const pair = pairKey('p1', 3)
const publicPem = createPublicKey(createPrivateKey(ed25519Pem(3))).export({ type: 'spki', format: 'pem' })
const segment = (text: string): string => Buffer.from(text).toString('base64url')

/** A token with a header as written, rightly signed. */
function tokenWith(header: string, key: SigningKey = first): string {
  const input = `${segment(header)}.${segment(payload)}`
  return `${input}.${key.sign(input, 'base64url')}`
}
const faultOf = (token: string, keys = createKeyRing([first])): string => {
  const opened = verifyJws(token, typ, keys)
  return opened.ok ? 'ok' : opened.fault
}

describe('signJws() and verifyJws()', () => {
  it.each([first, pair])('what $alg signs, it opens', (key) => {
    const opened = verifyJws(signJws(payload, key, typ), typ, createKeyRing([key]))
    expect(opened).toEqual({ ok: true, payload: Buffer.from(payload), kid: key.kid })
  })

  it.each([
    [first, Buffer.alloc(32, 1)],
    [pair, createPrivateKey(ed25519Pem(3))],
  ])('another implementation reads our $0.alg and we read its', async (key, foreign) => {
    const header = { alg: key.alg, kid: key.kid, typ }
    const theirs = await new CompactSign(Buffer.from(payload)).setProtectedHeader(header).sign(foreign)
    expect(faultOf(theirs, createKeyRing([key]))).toBe('ok')
    const verifying = foreign instanceof Buffer ? foreign : createPublicKey(foreign)
    const { payload: read, protectedHeader } = await compactVerify(signJws(payload, key, typ), verifying)
    expect([Buffer.from(read).toString(), protectedHeader]).toEqual([payload, header])
  })

  it('a public half verifies and cannot sign', () => {
    const key = createVerifyingKey({ kid: 'p1', alg: 'EdDSA', publicKey: publicPem })
    expect(faultOf(signJws(payload, pair, typ), createKeyRing([key]))).toBe('ok')
    expect(key).not.toHaveProperty('sign')
  })

  it('while keys rotate, both are valid; afterwards the old one is not', () => {
    const [before, after] = [signJws(payload, first, typ), signJws(payload, second, typ)]
    const both = createKeyRing([first, second])
    expect([faultOf(before, both), faultOf(after, both)]).toEqual(['ok', 'ok'])
    const rotated = createKeyRing([second])
    expect([faultOf(before, rotated), faultOf(after, rotated)]).toEqual(['key', 'ok'])
  })

  it('the key decides the algorithm', () => {
    const claims = (alg: string, kid: string): string => JSON.stringify({ alg, kid, typ })
    expect(faultOf(tokenWith(claims('none', 'k1')))).toBe('key')
    expect(faultOf(tokenWith(claims('EdDSA', 'k1')))).toBe('key')
    expect(faultOf(tokenWith(claims('hs256', 'k1')))).toBe('key')
    // The classic confusion: an HMAC under the text of a public key.
    const confused = createSigningKey({ kid: 'p1', alg: 'HS256', secret: Buffer.from(publicPem) })
    expect(faultOf(tokenWith(claims('HS256', 'p1'), confused), createKeyRing([pair]))).toBe('key')
    expect(faultOf(tokenWith(claims('EdDSA', 'p1'), confused), createKeyRing([pair]))).toBe('signature')
  })

  it('a type is never taken for the other', () => {
    expect(faultOf(signJws(payload, first, 'exec-policy+jws'))).toBe('form')
  })

  it.each([
    '{"alg":"HS256","kid":"k1","typ":"exec-ctx+jws","crit":["b64"]}',
    '{"alg":"HS256","kid":"k1","typ":"exec-ctx+jws","jwk":"x"}',
    '{"alg":"HS256","kid":"k1","kid":"k1","typ":"exec-ctx+jws"}',
    '{"alg":"HS256","alg":{"a":"HS256"},"alg":"HS256","kid":"k1","typ":"exec-ctx+jws"}',
    '{"alg":"HS256","\\u006bid":"k2","kid":"k1","typ":"exec-ctx+jws"}',
    '{"alg":"HS256","typ":"exec-ctx+jws"}',
    '{"kid":"k1","typ":"exec-ctx+jws"}',
    '{"alg":"HS256","kid":1,"typ":"exec-ctx+jws"}',
    '{"alg":"HS256","kid":"k1","typ":"JWT"}',
    '["HS256","k1","exec-ctx+jws"]',
    'null',
    '',
    '{"alg":"HS256","kid":"k1","typ":"exec-ctx+jws"',
  ])('a header %s is no form of ours', (header) => {
    expect(faultOf(tokenWith(header))).toBe('form')
  })

  it('a header in another order and with white space is read', () => {
    expect(faultOf(tokenWith('{ "typ": "exec-ctx+jws", "kid": "k1",\n "alg": "HS256" }'))).toBe('ok')
  })

  it.each([
    ['', 'form'],
    ['.', 'form'],
    ['..', 'form'],
    ['a.b', 'form'],
    ['.'.repeat(4_000), 'form'],
    [`${segment('{"alg":"none","kid":"k1","typ":"exec-ctx+jws"}')}.${segment('{}')}.`, 'key'],
    [`${segment('{"alg":"HS256","kid":"k1","typ":"exec-ctx+jws"}')}.${segment('{}')}.`, 'signature'],
  ])('"%.40s" is refused for its %s', (token, fault) => {
    expect(faultOf(token)).toBe(fault)
  })

  it('a segment that is not the one way to write its bytes is no form of ours', () => {
    const parts = signJws(payload, first, typ).split('.') as [string, string, string]
    for (const at of [0, 1, 2]) {
      for (const spoil of [(text: string) => `${text}=`, (text: string) => `${text} `, (text: string) => `${text}+`]) {
        expect(faultOf(parts.with(at, spoil(parts[at] as string)).join('.'))).toBe('form')
      }
    }
    expect(faultOf(`${parts.join('.')}.`)).toBe('form')
  })

  it('loose bits at the end of a signature are refused, though they decode to the same bytes', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const token = signJws(payload, first, typ)
    const last = alphabet.indexOf(token.at(-1) as string)
    for (const loose of [1, 2, 3]) {
      const other = token.slice(0, -1) + alphabet[last + loose]
      expect(Buffer.from(other.split('.')[2] as string, 'base64url')).toEqual(
        Buffer.from(token.split('.')[2] as string, 'base64url'),
      )
      expect(faultOf(other)).toBe('form')
    }
  })

  it('no text at all makes it throw', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.base64String(), fc.string({ unit: 'binary' })), { maxLength: 5 }), (parts) => {
        expect(verifyJws(parts.join('.'), typ, createKeyRing([first])).ok).toBe(false)
      }),
      { seed: 11, numRuns: 300 },
    )
  })
})

describe('keys', () => {
  it('a secret under 256 bits is refused, and not quoted', () => {
    const make = () => createSigningKey({ kid: 'k1', alg: 'HS256', secret: Buffer.from('a short secret') })
    expect(make).toThrow('key "k1" has 14 bytes; at least 32 are needed')
    expect(make).not.toThrow('a short secret')
  })

  it.each(['', 'a b', 'k"', 'x'.repeat(65)])('the kid "%s" is refused', (kid) => {
    expect(() => secretKey(kid, 1)).toThrow(/a kid has/)
  })

  it('what is not an Ed25519 key is refused, without its text', () => {
    const make = () => createSigningKey({ kid: 'k1', alg: 'EdDSA', privateKey: 'not a key: s3cret' })
    expect(make).toThrow('key "k1" is not an Ed25519 key')
    expect(make).not.toThrow('s3cret')
    expect(() => createVerifyingKey({ kid: 'k1', alg: 'EdDSA', publicKey: '' })).toThrow(/not an Ed25519 key/)
  })

  it('two keys of one kid are refused', () => {
    expect(() => createKeyRing([first, secretKey('k1', 9)])).toThrow(/same kid/)
  })

  it('nothing is derived from a public key', () => {
    expect(() => pair.derive('x-layer-ack')).toThrow(/not a shared secret/)
    expect(first.derive('a')).not.toEqual(first.derive('b'))
    expect(first.derive('a')).toEqual(secretKey('other', 1).derive('a'))
    expect(first.derive('a')).toHaveLength(32)
  })
})
