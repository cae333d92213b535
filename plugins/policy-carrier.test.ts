import { describe, expect, it } from 'vitest'
import { jsonFromText } from './chat.ts'
import { opening as contextOpening, instant, key, pairKey, secretKey } from './execution-context.support.ts'
import { openContext } from './execution-context-open.ts'
import { signJws } from './jws.ts'
import { createKeyRing, type SigningKey } from './jws-key.ts'
import { type Policy, policyDigest } from './policy.ts'
import {
  type CarrierOpening,
  openPolicy,
  policyQuestionRefusal,
  sealPolicy,
  sealPolicyQuestion,
} from './policy-carrier.ts'

const policy: Policy = { v: 1, route: 'chat', steps: [{ layer: 'prompt', version: 1, step: { text: 'Grüße' } }] }
const digest = policyDigest(policy)
const init = { iss: 'gateway-1', aud: 'b_1', now: instant }
const opening = (over: Partial<CarrierOpening> = {}): CarrierOpening => ({
  keys: createKeyRing([key]),
  aud: 'b_1',
  now: instant,
  digest,
  ...over,
})
const claims = { v: 1, iss: 'g', aud: 'b_1', iat: 1_790_000_000, exp: 1_790_000_010 }
const signed = (payload: object, by: SigningKey = key): string =>
  signJws(JSON.stringify(payload), by, 'exec-policy+jws')
const codeOf = (token: string, over: Partial<CarrierOpening> = {}): string => {
  const opened = openPolicy(token, opening(over))
  return opened.ok ? 'ok' : opened.refusal.code
}

describe('a policy on its way', () => {
  it.each([key, pairKey('p1', 3)])('arrives whole under $alg', (by) => {
    const keys = createKeyRing([by])
    expect(openPolicy(sealPolicy(policy, init, by), opening({ keys }))).toEqual({ ok: true, policy })
  })

  it('keeps the digits of numbers that a double cannot hold', () => {
    const text = '{"v":1,"route":"chat","steps":[{"layer":"prompt","version":1,"step":{"seed":12345678901234567890}}]}'
    const exact = jsonFromText(text) as Policy
    const opened = openPolicy(sealPolicy(exact, init, key), opening({ digest: policyDigest(exact) }))
    expect(opened.ok && JSON.stringify(opened.policy)).toBe(text)
  })

  it.each<[string, string, Partial<CarrierOpening>?]>([
    ['too-large', sealPolicy(policy, init, key), { maxBytes: 100 }],
    ['invalid', 'no token'],
    ['invalid', signJws(JSON.stringify({ ...claims, pol: digest, policy }), key, 'exec-ctx+jws')],
    ['signature', sealPolicy(policy, init, secretKey('k1', 9))],
    ['signature', sealPolicy(policy, init, secretKey('k9', 1))],
    ['audience', sealPolicy(policy, { ...init, aud: 'b_2' }, key)],
    ['expired', sealPolicy(policy, init, key), { now: instant + 60_000 }],
    ['invalid', signed({ ...claims, pol: digest, policy, more: 1 })],
    ['invalid', signed({ ...claims, pol: digest })],
    ['invalid', signed({ ...claims, pol: digest, policy: { ...policy, steps: [] } })],
    ['body', signed({ ...claims, pol: digest, policy: { ...policy, route: 'completions' } })],
    ['body', signed({ ...claims, pol: digest.replace(/^./, (digit) => (digit === '0' ? '1' : '0')), policy })],
    ['body', sealPolicy(policy, init, key), { digest: 'f'.repeat(64) }],
  ])('%s', (code, token, over) => {
    expect(codeOf(token, over)).toBe(code)
  })

  it('any byte of it changed is refused', () => {
    const token = sealPolicy(policy, init, key)
    for (let at = 0; at < token.length; at += 1) {
      const other = token[at] === 'A' ? 'B' : 'A'
      if (codeOf(token.slice(0, at) + other + token.slice(at + 1)) === 'ok') expect.fail(`taken at ${at}`)
    }
  })

  it('is never taken for a context, nor a context for it', () => {
    expect(openContext(sealPolicy(policy, init, key), contextOpening())).toMatchObject({ refusal: { code: 'invalid' } })
  })
})

describe('the question for a policy', () => {
  const refusal = (token: string | undefined, over: Partial<CarrierOpening> = {}) =>
    policyQuestionRefusal(token, opening(over))?.code

  it('is answered to who holds a key, for the digest it names', () => {
    const token = sealPolicyQuestion(digest, init, key)
    expect(refusal(token)).toBeUndefined()
    expect(refusal(token, { digest: 'f'.repeat(64) })).toBe('body')
    expect(refusal(token, { now: instant + 60_000 })).toBe('expired')
    expect(refusal(sealPolicyQuestion(digest, init, secretKey('k1', 9)))).toBe('signature')
    expect([refusal(undefined), refusal(sealPolicy(policy, init, key))]).toEqual(['missing', 'invalid'])
  })
})
