import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Directives } from '../directives.ts'
import type { Acting, Mode } from '../layer.ts'
import { through } from '../stack.ts'
import { rateLimit } from './index.ts'
import { limitsFromStep, type RateLimitStep } from './step.ts'
import { answering, createRig, type Rig } from './test-rig.ts'

const fold = (config: object): RateLimitStep =>
  rateLimit.fold!(rateLimit.config.parse(config), {
    declared: new Set(['user_id']),
    conversationHeader: 'x-conversation-id',
    file: () => Buffer.alloc(0),
    secret: (path) => path,
  })
const tighten = (step: RateLimitStep, directives: Directives) => rateLimit.tighten!(step, directives)
const step = fold({
  limits: [
    {
      key_fields: ['tenant'],
      tokens_per_minute: 1000,
      burst_capacity: 2000,
      tiers: { vip: { tokens_per_minute: 9000 } },
    },
    { name: 'person', key_fields: ['tenant', 'id'], requests_per_minute: 60 },
  ],
})
const quotasOf = (tightened: RateLimitStep, tier = '') =>
  limitsFromStep(tightened)
    .slice(step.limits.length)
    .flatMap((limit) => limit.quotas(tier))
    .map(({ of, perMinute, capacity }) => [of, perMinute, capacity])

describe('what a caller asks', () => {
  test('is a bucket of its own, lower than the configured one', () => {
    const asked = (rate_limit: object, tier?: string) => quotasOf(tighten(step, { rate_limit } as Directives), tier)
    expect(asked({ tokens_per_minute: 120, burst_capacity: 300 })).toEqual([['tokens', 120, 300]])
    expect(asked({ tokens_per_minute: 120 })).toEqual([['tokens', 120, 120]])
    expect(asked({ burst_capacity: 500 })).toEqual([['tokens', 1000, 500]])
    expect(asked({ requests_per_minute: 5 })).toEqual([['requests', 5, 5]])
    expect(asked({ tokens_per_minute: 2, burst_capacity: 1999 })).toEqual([['tokens', 2, 120]])
    expect(asked({ requests_per_minute: 5, key_fields: ['id', 'tenant'] })).toEqual([['requests', 5, 5]])
    expect(asked({ burst_capacity: 7, key_fields: ['tenant', 'id'] })).toEqual([['requests', 60, 7]])
    // Higher than what everybody has, and lower than what a tier has.
    expect(asked({ tokens_per_minute: 5000, burst_capacity: 2000 })).toEqual([])
    expect(asked({ tokens_per_minute: 5000, burst_capacity: 2000 }, 'vip')).toEqual([['tokens', 5000, 2000]])
  })

  test('is said under rate_limit or under auth, and counts once when it is said twice', () => {
    const wish = { tokens_per_minute: 50 }
    const both = tighten(step, { rate_limit: wish, auth: { ...wish, required_scopes: ['a'] } })
    expect(both).toEqual(tighten(step, { auth: wish }))
    expect(both.asked).toHaveLength(1)
    expect(rateLimit.native?.step.faults(both)).toEqual([])
  })

  test('is counted apart from what others of its tenant ask, and against the configured limit with them', async () => {
    const config = { limits: [{ tokens_per_minute: 50 }] }
    const rig = createRig(config)
    const seat = { ...rig.host, allows: () => true, has: () => false }
    const asking = async (tokens: number) => {
      const tightened = tighten(fold(config), { rate_limit: { tokens_per_minute: tokens } })
      const acting = (await rateLimit.native?.act(tightened, seat)) as Acting
      return admitted(rig, acting, { tenant: 'a', words: 10, output: 10 })
    }
    expect([await asking(20), await asking(20), await asking(30), await asking(45)]).toEqual([true, false, true, false])
  })

  test('that is nothing, or nothing lower, leaves the very same step', () => {
    const nothing: Directives[] = [
      {},
      { rate_limit: {} },
      { rate_limit: { key_fields: ['tenant'] } },
      { rate_limit: { tokens_per_minute: 9000, burst_capacity: 2000 } },
      { auth: { required_scopes: ['a'], jwt_payload_fields: 3 } },
    ]
    for (const directives of nothing) expect(tighten(step, directives)).toBe(step)
  })

  test.each([
    [{ rate_limit: { tokens_per_minute: '5' } }, 'rate_limit.tokens_per_minute'],
    [{ rate_limit: { tokens_per_minute: 0 } }, 'rate_limit.tokens_per_minute'],
    [{ rate_limit: { burst_capacity: 1.5 } }, 'rate_limit.burst_capacity'],
    [{ rate_limit: { requests_per_minute: null } }, 'rate_limit.requests_per_minute'],
    [{ rate_limit: { key_fields: 'tenant' } }, 'rate_limit.key_fields'],
    [{ rate_limit: { concurrent: 1 } }, 'rate_limit.concurrent'],
    [{ auth: { tokens_per_minute: -1 } }, 'auth.tokens_per_minute'],
  ])('of the wrong kind is refused with its path: %j', (directives, path) => {
    expect(() => tighten(step, directives as Directives)).toThrow(
      expect.objectContaining({ code: 'invalid_request', detail: { field: `execution_context.${path}` } }),
    )
  })
})

const amount = fc.option(fc.integer({ min: 1, max: 200 }), { nil: undefined })
const amounts = fc.record({
  tokens_per_minute: amount,
  requests_per_minute: amount,
  burst_capacity: amount,
  concurrent: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
})
const bare = (value: object) => Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined))
const valid = (limit: object): boolean => {
  const has = (...names: readonly string[]): boolean => names.some((name) => name in limit)
  return has('tokens_per_minute', 'requests_per_minute') || (has('concurrent') && !has('burst_capacity'))
}
const configs = fc
  .record({
    limits: fc.array(
      fc.record({ key_fields: fc.subarray(['tenant', 'client_ip']), amounts, vip: amounts }).map((each) => ({
        key_fields: each.key_fields,
        ...bare(each.amounts),
        tiers: { vip: bare(each.vip) },
      })),
      { minLength: 1, maxLength: 3 },
    ),
    tiers: fc.record({ vip: amounts.map(bare), free: amounts.map(bare) }),
  })
  .filter(({ limits }) => limits.every(valid))
const wishes = fc.record({
  rate_limit: fc
    .record({
      tokens_per_minute: amount,
      burst_capacity: amount,
      requests_per_minute: amount,
      key_fields: fc.option(fc.subarray(['tenant', 'client_ip']), { nil: undefined }),
    })
    .map(bare),
})
const asks = fc.array(
  fc.record({
    wish: wishes,
    tier: fc.constantFrom('', 'vip', 'free'),
    words: fc.integer({ min: 1, max: 60 }),
    output: fc.integer({ min: 0, max: 60 }),
    wait: fc.constantFrom(0, 0, 100, 20_000),
  }),
  { minLength: 1, maxLength: 12 },
)

async function admitted(rig: Rig, acting: Acting, ask: object, mode: Mode = 'enforce'): Promise<boolean> {
  const inside = async () => answering((ask as { output: number }).output)(rig.callOf(ask))
  try {
    const seats = [{ name: 'rate-limit', acting, mode }]
    const reply = await through(seats, rig.callOf(ask), { inside, witness: { heard() {} } })
    for await (const _ of reply.bytes());
    return true
  } catch {
    return false
  } finally {
    await acting.close?.()
  }
}

test('whatever callers ask: what is admitted then, the configured limits admit as well, call for call', async () => {
  let kept = 0
  let lowered = 0
  const property = fc.asyncProperty(configs, asks, async (config, story) => {
    const base = fold(config)
    const asking = createRig(config)
    const plain = createRig(config)
    const seat = { ...asking.host, allows: () => true, has: () => false }
    for (const { wish, wait, ...ask } of story) {
      asking.host.clock.advance(wait)
      plain.host.clock.advance(wait)
      const call = { tenant: 'a', ...ask }
      const tightened = tighten(base, wish as Directives)
      if (tightened !== base) lowered++
      const acting = (await rateLimit.native?.act(tightened, seat)) as Acting
      if (!(await admitted(asking, acting, call))) continue
      kept++
      // The configured limits have counted exactly the calls that were admitted, so they would have admitted each.
      expect(await admitted(plain, plain.acting, call)).toBe(true)
    }
  })
  await fc.assert(property, { seed: 11, numRuns: 150 })
  expect(kept).toBeGreaterThan(150)
  expect(lowered).toBeGreaterThan(150)
})
