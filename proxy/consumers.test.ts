import { describe, expect, it } from 'vitest'
import { agentFamily, type ConsumerCall, createConsumers } from './consumers.ts'

const call: ConsumerCall = {
  tenant: 't1',
  client: 'one',
  userAgent: 'openai-python/1.2 (linux)',
  headers: ['cache-hit'],
  tier: 'normal',
  shed: false,
  at: 1_000,
}

describe('the table of consumers', () => {
  it('keeps one line for a client and its kind of agent, with all it has asked for', () => {
    const table = createConsumers()
    table.note(call)
    table.note({ ...call, userAgent: 'OpenAI-Python/2', headers: ['auth-status', 'cache-hit'], at: 5_000 })
    table.note({ ...call, userAgent: 'curl/8', at: 3_000 })
    expect(table.list()).toEqual([
      expect.objectContaining({ agent: 'curl', count: 1 }),
      {
        tenant: 't1',
        client: 'one',
        agent: 'openai-python',
        headers: ['auth-status', 'cache-hit'],
        firstSeen: 1_000,
        lastSeen: 5_000,
        count: 2,
        warned: 0,
        shed: 0,
        tier: 'normal',
      },
    ])
  })

  it('counts warnings and calls that were turned away', () => {
    const table = createConsumers()
    for (const tier of ['normal', 'warned', 'last', 'gone'] as const)
      table.note({ ...call, tier, shed: tier === 'last' })
    expect(table.list()[0]).toMatchObject({ count: 4, warned: 3, shed: 1, tier: 'gone' })
  })

  it('a caller is news when it is first seen, and when the tier has changed', () => {
    const table = createConsumers()
    const news = (['normal', 'normal', 'warned', 'warned'] as const).map((tier) => table.note({ ...call, tier }))
    expect(news).toEqual([true, false, true, false])
  })

  it('forgets who was not seen for longest, and says how many', () => {
    const table = createConsumers(2)
    for (const client of ['a', 'b', 'a', 'c']) table.note({ ...call, client })
    expect(table.list().map(({ client }) => client)).toEqual(['c', 'a'])
    expect(table.forgotten).toBe(1)
  })

  it('cuts names that are long and takes out what a terminal would obey', () => {
    const table = createConsumers()
    table.note({ ...call, client: `\u001b[2J${'x'.repeat(500)}` })
    expect(table.list()[0]?.client).toMatch(/^\?\[2Jx{124}$/)
  })
})

describe('the family of an agent', () => {
  it.each([
    ['openai-python/1.2 (x)', 'openai-python'],
    ['Mozilla/5.0 (X11)', 'mozilla'],
    ['keycloak/9', 'keycloak'],
    ['curl', 'curl'],
    [undefined, 'unknown'],
    ['', 'unknown'],
    ['(comment)', 'unknown'],
    ['tell me a secret', 'tell'],
    ['sk-abcdef/1', 'unknown'],
    ['fg_0123abc', 'unknown'],
    ['Bearer abc', 'unknown'],
    ['eyJhbGciOi.x', 'unknown'],
    ['a'.repeat(32), 'unknown'],
    ['client123456789/1', 'unknown'],
    [`${'ab-'.repeat(40)}/1`, 'unknown'],
  ])('of %j is %s', (userAgent, family) => {
    expect(agentFamily(userAgent)).toBe(family)
  })
})
