import { describe, expect, it } from 'vitest'
import { createCall } from './call.ts'
import { absent, compilePath, readPath } from './path.ts'

const declared = new Set(['user_id'])
const call = createCall({
  id: 'i',
  route: 'chat',
  now: 0,
  body: Buffer.from(
    JSON.stringify({
      model: 'm',
      messages: [
        { role: 'system', content: 'first' },
        { role: 'user', content: [{ type: 'text', text: 'part' }] },
      ],
      user_id: 'from the body',
      tenant: 'from the body',
      empty: null,
      'odd.key': 1,
    }),
  ),
  headers: {},
  facts: {
    client_ip: '203.0.113.7',
    principal: { id: 'u', tenant: 't1', tier: 'free', scopes: ['a'], claims: { user_id: 'u1' }, method: 'jwt' },
  },
  signal: new AbortController().signal,
})
const at = (text: string): unknown => readPath(compilePath(text, declared), call)

describe('readPath()', () => {
  it.each([
    ['messages.0.content', 'first'],
    ['messages[0].content', 'first'],
    ['messages[-1].content[0].text', 'part'],
    ['["odd.key"]', 1],
    ['empty', null],
    ['tenant', 't1'],
    ['user_id', 'u1'],
    ['client_ip', '203.0.113.7'],
    ['scopes[0]', 'a'],
    ['body.tenant', 'from the body'],
    ['body.user_id', 'from the body'],
    ['facts.tier', 'free'],
  ])('%s', (text, value) => {
    expect(at(text)).toEqual(value)
  })

  it.each([
    'messages.7.content',
    'nothing',
    'messages.length',
    'constructor',
    '__proto__',
    'messages.0.toString',
    'facts.model',
  ])('%s is absent', (text) => {
    expect(at(text)).toBe(absent)
  })

  it('never falls back to the body for a declared name', () => {
    const anonymous = createCall({ ...call, body: call.body, facts: {} })
    expect(readPath(compilePath('user_id', declared), anonymous)).toBe(absent)
    expect(readPath(compilePath('tenant', declared), anonymous)).toBe(absent)
  })
})

describe('compilePath()', () => {
  it.each(['', '.a', 'a..b', 'a[', 'a[x]', 'a b', 'facts', 'body'])('refuses "%s"', (text) => {
    expect(() => compilePath(text, declared)).toThrow(/path/)
  })
})
