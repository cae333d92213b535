import { describe, expect, it } from 'vitest'
import { layers as allLayers } from '../../plugins/index.ts'
import { policyFault } from '../../plugins/policy.ts'
import { createTestHost } from '../../test/support/host.ts'
import { createPolicies } from './policies.ts'
import { badgeLayer, wordsLayer } from './test-layers.ts'
import { defaultDirectives } from './test-rig.ts'

const host = createTestHost({ files: { 'terms.txt': 'be kind' } })
const [outer, inner] = [wordsLayer('outer', { routes: ['chat', 'models'] }), wordsLayer('inner')]
const policiesOf = (sections: Record<string, unknown>) =>
  createPolicies({ layers: sections, directives: defaultDirectives }, host, [badgeLayer, outer, inner])

describe('the policies of a configuration', () => {
  it('hold the steps of each layer that is on, by route, outermost first', () => {
    const policies = policiesOf({ inner: { words: ['b', 'a'] }, badge: {}, outer: {} })
    const chat = policies.of('chat')
    expect(chat?.policy.steps.map(({ layer, version }) => [layer, version])).toEqual([
      ['badge', 3],
      ['outer', 1],
      ['inner', 1],
    ])
    expect(chat?.policy.steps[2]?.step).toEqual({ words: ['a', 'b'] })
    expect([...(chat?.versions ?? [])]).toEqual([
      ['badge', 3],
      ['outer', 1],
      ['inner', 1],
    ])
    expect(policies.of('models')?.policy.steps.map(({ layer }) => layer)).toEqual(['outer'])
    expect(policies.of('completions')).toBeUndefined()
    expect(policies.of('passthrough')).toBeUndefined()
  })

  it('are found by their digests, which hang on the configuration alone', () => {
    const one = policiesOf({ inner: { words: ['b', 'a'] } })
    const digest = one.of('chat')?.digest as string
    expect(one.get(digest)).toBe(one.of('chat'))
    expect(one.get('0'.repeat(64))).toBeUndefined()
    expect(policiesOf({ inner: { words: ['a', 'b'] } }).of('chat')?.digest).toBe(digest)
    expect(policiesOf({ inner: { words: ['a'] } }).of('chat')?.digest).not.toBe(digest)
    expect(one.all.every(({ policy }) => policyFault(policy) === undefined)).toBe(true)
  })

  it('leave out what cannot leave, and say why', () => {
    const { fold: _fold, native: _native, ...plain } = wordsLayer('plain')
    const policies = createPolicies(
      { layers: { plain: {}, inner: { fixed: true } }, directives: defaultDirectives },
      host,
      [plain, inner],
    )
    expect(policies.all).toEqual([])
    expect([...policies.stays]).toEqual([
      ['plain', 'it has no half that a runner executes'],
      ['inner', 'it is fixed here'],
    ])
  })

  it('hold public files and the bare names of secret ones', () => {
    const policies = policiesOf({ inner: { termsFile: 'terms.txt', secretFile: 'secrets/hook' } })
    expect(policies.of('chat')?.policy.steps[0]?.step).toEqual({ words: [], terms: 'be kind', secret: 'hook' })
  })

  it('say whose file cannot be read', () => {
    expect(() => policiesOf({ inner: { termsFile: 'gone.txt' } })).toThrow(/^layers\.inner: .*gone\.txt/)
  })

  it('do not mix two secrets up that share a bare name', () => {
    expect(() => policiesOf({ outer: { secretFile: 'a/hook' }, inner: { secretFile: 'b/hook' } })).toThrow(
      /^layers\.inner: .*a\/hook and b\/hook share the name hook/,
    )
    expect(() => policiesOf({ outer: { secretFile: './a/hook' }, inner: { secretFile: 'a/hook' } })).not.toThrow()
  })

  it('of nothing are none', () => {
    expect(createPolicies({ layers: {}, directives: defaultDirectives }, host, allLayers).all).toEqual([])
  })
})
