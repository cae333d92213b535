import { describe, expect, test } from 'vitest'
import { createTestHost } from '../../test/support/host.ts'
import { prompt, promptRuleFor, ruleFromConfig } from './index.ts'
import { type Asking, ask } from './test-rig.ts'

function ruleOf(config: object, asking: Asking & { body?: object; model?: string } = {}): string {
  const { body = {}, model, ...rest } = asking
  const rule = ruleFromConfig(prompt.config.parse(config), createTestHost())
  const found = promptRuleFor(rule, ask(body, rest), model)
  expect(JSON.parse(JSON.stringify(found))).toEqual(found)
  return JSON.stringify(found)
}

const hour = 3_600_000
const one = { templates: { a: { text: 'one' } } }

describe('the rule of a call', () => {
  test('another text, version or place is another rule', () => {
    const base = ruleOf(one)
    expect(ruleOf({ templates: { a: { text: 'two' } } })).not.toBe(base)
    expect(ruleOf({ templates: { a: { text: 'one', version: '2' } } })).not.toBe(base)
    expect(ruleOf({ templates: { a: { text: 'one', position: 'after' } } })).not.toBe(base)
    expect(ruleOf({ ...one, decorators: [{ role: 'user', position: 'append', text: 'x' }] })).not.toBe(base)
    expect(ruleOf({ ...one, adaptations: { recap: { enabled: true } } })).not.toBe(base)
    expect(ruleOf({ ...one, context: { maxTokens: 10 } })).not.toBe(base)
    expect(ruleOf(one)).toBe(base)
  })
  test('a pinned version does not change when the current one does', () => {
    const config = (text: string) => ({
      templates: { a: { text, version: '2', versions: { '1': { text: 'old' } } } },
      use: [{ template: 'a', version: '1', when: { tenant: 'pinned' } }, { template: 'a' }],
    })
    expect(ruleOf(config('x'), { tenant: 'pinned' })).toBe(ruleOf(config('y'), { tenant: 'pinned' }))
    expect(ruleOf(config('x'))).not.toBe(ruleOf(config('y')))
  })
  test('only what a template mentions is in it: a clock as it is rounded, facts and body values as they are', () => {
    expect(ruleOf(one, { now: 0 })).toBe(ruleOf(one, { now: 5 * hour }))
    const clock = { templates: { a: { text: '{{now_utc}}' } } }
    expect(ruleOf(clock, { now: 0 })).toBe(ruleOf(clock, { now: hour - 1 }))
    expect(ruleOf(clock, { now: 0 })).not.toBe(ruleOf(clock, { now: hour }))
    const named = { templates: { a: { text: '{{user_id}} {{lang}}' } }, paths: { lang: 'body.metadata.lang' } }
    const body = { metadata: { lang: 'de' } }
    expect(ruleOf(named, { body })).not.toBe(ruleOf(named, { body: { metadata: { lang: 'en' } } }))
    expect(ruleOf(named, { body, claims: { x: 1 } })).toBe(ruleOf(named, { body }))
  })
  test('a clock that is not rounded makes it not cacheable', () => {
    const clock = { templates: { a: { text: '{{now_utc}}' } } }
    expect(ruleOf(clock)).toContain('"cacheable":true')
    expect(ruleOf({ ...clock, enable_determinism: false })).toContain('"cacheable":false')
    expect(ruleOf({ ...one, enable_determinism: false })).toContain('"cacheable":true')
  })
  test('before the model is known, what any model could bring is in it', () => {
    const config = (first: string) => ({
      templates: { a: { text: 'A' }, b: { text: 'B' } },
      default: 'b',
      use: [{ template: 'a', when: { model: first } }],
    })
    expect(ruleOf(config('m1'))).not.toBe(ruleOf(config('m2')))
    expect(ruleOf(config('m1'), { model: 'm3' })).toBe(ruleOf(config('m2'), { model: 'm3' }))
    expect(ruleOf(config('m1'), { model: 'm1' })).not.toBe(ruleOf(config('m1'), { model: 'm2' }))
  })
  test('a control that a header asks for is in it', () => {
    const headers = { 'x-controllability': 'concise' }
    expect(ruleOf(one, { headers })).not.toBe(ruleOf(one))
  })
})
