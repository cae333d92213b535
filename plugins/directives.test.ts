import { describe, expect, it } from 'vitest'
import { directiveMembers, directivesFromBody, withoutDirectives } from './directives.ts'

const found = (value: unknown) => directivesFromBody(Buffer.from(JSON.stringify(value)))

describe('directivesFromBody()', () => {
  it('finds them under either name', () => {
    const directives = { cache: { ttl_seconds: 5 }, debug_force_fallback: true }
    expect(found({ model: 'm', execution_context: directives })).toEqual({ directives })
    expect(found({ 'x-execution-context': directives })).toEqual({ directives })
    const members = [...directiveMembers, 'x-anthropic-execution-context']
    const body = Buffer.from(JSON.stringify({ 'x-anthropic-execution-context': directives }))
    expect([directivesFromBody(body), directivesFromBody(body, { members })]).toEqual([undefined, { directives }])
  })

  it('finds none where only a message speaks of them, or a member further in has that name', () => {
    expect(found({ messages: [{ content: '"execution_context": {}' }] })).toBeUndefined()
    expect(found({ metadata: { execution_context: {} } })).toBeUndefined()
    expect(found(['execution_context'])).toBeUndefined()
    expect(directivesFromBody(Buffer.from('{"execution_context":'))).toBeUndefined()
  })

  it('does not parse a body that has no such name in it', () => {
    const parse = (): never => expect.fail('parsed')
    expect(directivesFromBody(Buffer.from('{"execution":1,"x-exec":2}'), { parse })).toBeUndefined()
  })

  it.each<[string, unknown]>([
    ['execution_context', { execution_context: 7 }],
    ['execution_context', { execution_context: null }],
    ['execution_context.caching', { execution_context: { caching: {} } }],
    ['execution_context.safety', { execution_context: { safety: {} } }],
    ['execution_context.debug_force_fallback', { execution_context: { debug_force_fallback: 1 } }],
    ['execution_context', { execution_context: { cache: { text: 'x'.repeat(65_536) } } }],
    ['x-execution-context.auth', { 'x-execution-context': { auth: [] } }],
    ['x-execution-context', { 'x-execution-context': {}, execution_context: {} }],
  ])('names %s where that is at fault', (fault, body) => {
    expect(found(body)).toEqual({ fault })
  })
})

it('a request without them stays the very same, one with them loses only them', () => {
  const plain = { model: 'm' }
  expect(withoutDirectives(plain)).toBe(plain)
  expect(withoutDirectives({ model: 'm', execution_context: {}, 'x-execution-context': {} })).toEqual(plain)
})
