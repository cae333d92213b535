import { expect, it } from 'vitest'
import { createCall, type Facts } from './call.ts'
import { callFromContext, contextFactsFromCall } from './context-call.ts'
import { createContext } from './execution-context.ts'

const signal = new AbortController().signal
const body = Buffer.from('{"model":"m","messages":[]}')
const principal: Facts['principal'] = {
  id: 'u',
  tenant: 't',
  tier: 'vip',
  scopes: ['read'],
  claims: { plan: 'gold', secret: 'x' },
  method: 'jwt',
}
const target = [{ runner: 'a', model: 'm' }]
const facts = { client_ip: '203.0.113.7', peer: '10.0.0.1', principal, target } as Partial<Facts>
const headers = { cookie: 'c', 'x-conversation-id': 'v1' }
const call = createCall({ id: '0'.repeat(32), route: 'chat', now: 7, body, headers, facts, signal })
const context = (said: ReturnType<typeof contextFactsFromCall>) =>
  createContext({
    id: call.id,
    attempt: 1,
    shadow: false,
    iss: 'g',
    aud: 'b',
    sentAtMs: 7,
    now: 7,
    pol: 'p',
    bod: 'b',
    modes: {},
    facts: said,
  })

it('a call arrives with what the acting layers read or name, and nothing else', () => {
  const wishes = { principal: true, claims: ['plan', 'absent'], headers: ['x-conversation-id', 'x-absent'] }
  const said = contextFactsFromCall(call, wishes)
  expect(JSON.stringify(said)).not.toMatch(/secret|cookie|10\.0\.0\.1/)
  const there = callFromContext(context(said), { route: 'chat', body, headers: { authorization: 'b' }, signal })
  expect(there.facts).toEqual({
    client_ip: '203.0.113.7',
    principal: { ...principal, claims: { plan: 'gold' } },
    target,
  })
  expect(there.headers).toEqual({ 'x-conversation-id': 'v1', authorization: 'b' })
  expect([there.id, there.now, there.route]).toEqual([call.id, 7, 'chat'])
})

it('a caller that nobody reads does not travel', () => {
  const said = contextFactsFromCall(call, { principal: false, claims: ['plan'], headers: [] })
  expect(said).toEqual({ client_ip: '203.0.113.7', target })
  expect(callFromContext(context(said), { route: 'chat', body, headers: {}, signal }).facts.principal).toBeUndefined()
})
