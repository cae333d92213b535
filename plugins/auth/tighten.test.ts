import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createTestHost } from '../../test/support/host.ts'
import { createCall } from '../call.ts'
import type { Directives } from '../directives.ts'
import type { Acting } from '../layer.ts'
import type { Verdict } from '../verdict.ts'
import { auth } from './index.ts'
import type { AuthStep } from './step.ts'
import { hexHash } from './test-host.ts'

const scopes = ['a', 'b', 'c', 'd']
const subsets = Array.from({ length: 16 }, (_, bits) => scopes.filter((_, index) => bits & (1 << index)))
const apiKeys = subsets.map((each, index) => ({
  id: `k${index}`,
  hash: hexHash(`fg_${index}`),
  tenant: 't',
  scopes: each,
}))
const stepOf = (config: object): AuthStep =>
  auth.fold!(auth.config.parse({ apiKeys, ...config }), {
    declared: new Set(),
    conversationHeader: 'x-conversation-id',
    file: () => Buffer.alloc(0),
    secret: (path) => path,
  })
const tighten = (step: AuthStep, asked: unknown) => auth.tighten!(step, { auth: asked } as Directives)
const step = stepOf({ required_scopes: ['a'], jwt_payload_fields: ['user_id'] })

describe('what a caller asks', () => {
  it('adds scopes to the configured ones, and takes none away', () => {
    expect(tighten(step, { required_scopes: ['c', 'b', 'a', 'c'] }).required_scopes).toEqual(['a', 'b', 'c'])
    expect(auth.native?.step.faults(tighten(step, { required_scopes: ['b'] }))).toEqual([])
  })

  it.each([
    [undefined],
    [{}],
    [{ required_scopes: [] }],
    [{ required_scopes: ['a'] }],
    [{ jwt_payload_fields: ['user_id'] }],
    [{ jwt_payload_fields: [] }],
    [{ tokens_per_minute: 5, burst_capacity: 'x', requests_per_minute: 1, key_fields: [] }],
  ])('of auth that is nothing leaves the very same step: %j', (asked) => {
    expect(tighten(step, asked)).toBe(step)
  })

  it.each([
    [{ required_scopes: 'a' }, 'required_scopes'],
    [{ required_scopes: ['a b'] }, 'required_scopes'],
    [{ required_scopes: [''] }, 'required_scopes'],
    [{ required_scopes: [1] }, 'required_scopes'],
    [{ required_scopes: Array.from({ length: 33 }, (_, i) => `s${i}`) }, 'required_scopes'],
    [{ required_scopes: null }, 'required_scopes'],
    [{ jwt_payload_fields: ['email'] }, 'jwt_payload_fields'],
    [{ jwt_payload_fields: ['user_id', 'constructor'] }, 'jwt_payload_fields'],
    [{ anonymous: true }, 'anonymous'],
    [{ jwt: { issuer: 'me' } }, 'jwt'],
  ])('that is wrong, or would loosen, is refused with its path: %j', (asked, name) => {
    const field = `execution_context.auth.${name}`
    expect(() => tighten(step, asked)).toThrow(expect.objectContaining({ code: 'invalid_request', detail: { field } }))
  })
})

const some = fc.subarray(scopes)
const directive = fc.oneof(
  fc.record({ required_scopes: some, jwt_payload_fields: fc.subarray(['user_id']) }, { requiredKeys: [] }),
  fc.dictionary(fc.constantFrom('required_scopes', 'jwt_payload_fields', 'anonymous', 'key_fields'), fc.jsonValue()),
)

it('whatever a caller asks: who passes then, passes without, as the same principal', async () => {
  let passed = 0
  const property = fc.asyncProperty(some, fc.boolean(), directive, async (required_scopes, anonymous, asked) => {
    const plain = stepOf({ required_scopes, anonymous, jwt_payload_fields: ['user_id'] })
    let tightened: AuthStep
    try {
      tightened = tighten(plain, asked)
    } catch (reason) {
      expect(reason).toMatchObject({ code: 'invalid_request' })
      return
    }
    const seat = { ...createTestHost(), allows: () => true, has: () => true }
    const [base, half] = (await Promise.all([plain, tightened].map((each) => auth.native?.act(each, seat)))) as Acting[]
    for (const credential of [...subsets.keys(), 'wrong', undefined]) {
      const call = createCall({
        id: 'c',
        route: 'chat',
        now: seat.clock.now(),
        body: Buffer.from('{}'),
        headers: credential === undefined ? {} : { 'x-api-key': `fg_${credential}` },
        facts: {},
        signal: new AbortController().signal,
      })
      const [before, after] = (await Promise.all(
        [base, half].map((each) => each?.decide?.(call, 'enforce')),
      )) as Verdict[]
      if (after?.kind === 'pass') {
        passed++
        expect(before).toEqual(after)
      }
    }
  })
  await fc.assert(property, { seed: 7, numRuns: 150 })
  expect(passed).toBeGreaterThan(150)
})
