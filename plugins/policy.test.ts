import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sha256 } from './canonical.ts'
import { type Policy, policyDigest, policyFault } from './policy.ts'

const policy: Policy = {
  v: 1,
  route: 'chat',
  steps: [
    { layer: 'auth', version: 1, step: { required_scopes: [] } },
    { layer: 'cache', version: 2, step: { ttl_seconds: 300, input_hash_fields: ['messages'] } },
  ],
}

describe('policyDigest()', () => {
  it('is the SHA-256 of the canonical form', () => {
    expect(policyDigest({ steps: policy.steps, route: 'chat', v: 1 })).toBe(policyDigest(policy))
    const text =
      '{"route":"chat","steps":[{"layer":"auth","step":{"required_scopes":[]},"version":1},{"layer":"cache","step":{"input_hash_fields":["messages"],"ttl_seconds":300},"version":2}],"v":1}'
    expect(policyDigest(policy)).toBe(sha256(text))
  })

  it('any other step, version, layer, order or route is another policy', () => {
    const [first, second] = policy.steps
    const others: Policy[] = [
      { ...policy, route: 'completions' },
      { ...policy, steps: [second!, first!] },
      { ...policy, steps: [first!] },
      { ...policy, steps: [{ ...first!, version: 2 }, second!] },
      { ...policy, steps: [first!, { ...second!, step: { ...second!.step, ttl_seconds: 301 } }] },
    ]
    expect(new Set([policy, ...others].map(policyDigest)).size).toBe(others.length + 1)
  })

  it('survives JSON', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (step) => {
        const made: Policy = { v: 1, route: 'chat', steps: [{ layer: 'x', version: 1, step }] }
        expect(policyDigest(JSON.parse(JSON.stringify(made)))).toBe(policyDigest(made))
      }),
      { seed: 41 },
    )
  })
})

describe('policyFault()', () => {
  it('a right policy has none', () => {
    expect(policyFault(policy)).toBeUndefined()
  })

  it.each([
    [{ ...policy, v: 2 }, 'v: must be 1'],
    [{ ...policy, route: 'passthrough' }, 'route: must be one of'],
    [{ ...policy, steps: [] }, 'steps: must NOT have fewer'],
    [{ ...policy, name: 'x' }, 'name: unknown key'],
    [{ ...policy, steps: [{ layer: 'auth', version: 0, step: {} }] }, 'steps[0].version: must be >= 1'],
    [{ ...policy, steps: [{ layer: 'auth', version: 1, step: [] }] }, 'steps[0].step: must be object'],
    [{ ...policy, steps: [{ layer: 'auth', version: 1 }] }, 'steps[0].step: is required'],
    [{ ...policy, steps: [...policy.steps, policy.steps[0]] }, 'steps[2].layer: the layer stands there twice'],
    [null, 'must be object'],
  ])('%#: %j', (value, fault) => {
    expect(policyFault(value)).toContain(fault)
  })
})
