import { describe, expect, it } from 'vitest'
import { type Policy, policyDigest } from './policy.ts'
import { compileCodes, knownPolicyFrom, type LayerReport, type PolicyReport, reportFault } from './policy-report.ts'

const policy: Policy = {
  v: 1,
  route: 'chat',
  steps: ['auth', 'cache', 'postprocess'].map((layer, at) => ({ layer, version: at + 1, step: {} })),
}
const digest = policyDigest(policy)
const compiled: LayerReport = { status: 'compiled', ms: 1.5 }
const report: PolicyReport = {
  pol: digest,
  layers: {
    auth: compiled,
    cache: {
      status: 'soft',
      code: 'UNSUPPORTED_KEYWORD',
      path: 'output_validation.json_schema.not',
      value: 'not',
      ms: 0,
    },
    postprocess: { status: 'refused', code: 'PHRASE_LIMIT', limit: 200, value: 201, try: 'fewer phrases', ms: 0.2 },
  },
}
const fault = (layer: object, name = 'auth') =>
  reportFault({ ...report, layers: { ...report.layers, [name]: layer } }, { digest, policy })

describe('reportFault()', () => {
  it('a right report has none', () => {
    expect(reportFault(JSON.parse(JSON.stringify(report)), { digest, policy })).toBeUndefined()
  })

  it('a step is compiled, or there is a code', () => {
    expect(fault({ ...compiled, code: 'PHRASE_LIMIT' })).toContain('layers.auth')
    expect(fault({ status: 'refused', ms: 0 })).toBe('layers.auth.code: is required')
    expect(fault({ status: 'soft', code: 'NO_SUCH_CODE', ms: 0 })).toContain('layers.auth.code: must be one of')
    expect(fault({ status: 'done', code: 'PHRASE_LIMIT', ms: 0 })).toContain('layers.auth.status')
    expect(fault({ status: 'compiled' })).toBe('layers.auth.ms: is required')
    for (const code of compileCodes) {
      if (code !== 'UNSATISFIABLE') expect(fault({ status: 'refused', code, ms: 0 })).toBeUndefined()
    }
  })

  it('an UNSATISFIABLE names the two that clash', () => {
    const clash = { status: 'refused', code: 'UNSATISFIABLE', ms: 0 }
    expect(fault({ ...clash, value: ['suffix', 'json.schema'] })).toBeUndefined()
    expect(fault(clash)).toContain('layers.auth.value')
    expect(fault({ ...clash, value: ['suffix'] })).toContain('layers.auth.value')
    expect(fault({ ...clash, value: 'suffix' })).toContain('layers.auth.value')
  })

  it('says what of every step, of no other, and of this policy', () => {
    const { auth: _, ...rest } = report.layers
    expect(reportFault({ ...report, layers: rest }, { digest, policy })).toBe('layers.auth: is required')
    expect(fault(compiled, 'prompt')).toBe('layers.prompt: is not in the policy')
    expect(reportFault({ ...report, pol: 'f'.repeat(64) }, { digest, policy })).toBe('pol: another policy')
    expect(reportFault(null, { digest, policy })).toBe('must be object')
  })
})

describe('knownPolicyFrom()', () => {
  it('contexts may name what was compiled, in whole or in part', () => {
    expect([...knownPolicyFrom(policy, report).versions]).toEqual([
      ['auth', 1],
      ['cache', 2],
    ])
  })
})
