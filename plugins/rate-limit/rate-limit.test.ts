import { parseList } from 'structured-headers'
import { describe, expect, test, vi } from 'vitest'
import { anthropicErrorBody, errorHeaders, gatewayError } from '../errors.ts'
import { replyFromBytes } from '../reply.ts'
import { rateLimit } from './index.ts'
import { answering, createRig, streaming } from './test-rig.ts'

const perMinute = (tokens: number, more: object = {}) => ({
  limits: [{ key_fields: ['tenant'], tokens_per_minute: tokens, ...more }],
})
const remaining = (headers: Readonly<Record<string, string>>) => Number(headers['x-ratelimit-remaining-tokens'])

describe('the configuration', () => {
  test('names every fault that only the layer sees, with its path', () => {
    const limits = [
      { key_fields: ['user', 'messages[0'], tokens_per_minute: 10 },
      { name: 'a', key_fields: [], burst_capacity: 5 },
      { name: 'a', concurrent: 1, burst_capacity: 5 },
    ]
    const fault = (() => {
      try {
        return createRig({ limits }) as never
      } catch (reason) {
        return reason as { code: string; detail: { faults: { path: string }[] } }
      }
    })()
    expect(fault.code).toBe('config_invalid')
    expect(fault.detail.faults.map((each) => each.path)).toEqual([
      'limits[2].name',
      'limits[0].key_fields[0]',
      'limits[0].key_fields[1]',
      'limits[1]',
      'limits[2].burst_capacity',
    ])
  })

  test('is strict: unknown keys, nothing, and amounts out of range are refused', () => {
    const faults = (value: unknown) => rateLimit.config.faults(value).map((fault) => fault.path)
    expect(faults({ limits: [{ tokens_per_minuet: 5 }] })).toEqual(['limits[0].tokens_per_minuet'])
    expect(faults({ limits: [] })).toEqual(['limits'])
    expect(faults({ limits: [{ tokens_per_minute: 0, concurrent: 1.5 }] })).toHaveLength(2)
  })

  test('a body value counts only when it is written body.…', async () => {
    const rig = createRig({ limits: [{ key_fields: ['body.user'], requests_per_minute: 1 }] })
    expect((await rig.ask({ request: { user: 'a' } })).error).toBeUndefined()
    expect((await rig.ask({ request: { user: 'b' } })).error).toBeUndefined()
    expect((await rig.ask({ request: { user: 'a' } })).error?.code).toBe('rate_limited')
  })
})

describe('tokens', () => {
  test('are reserved before and settled to real usage after', async () => {
    const rig = createRig(perMinute(1000))
    // 10 prompt and up to 200 output are reserved; 15 and 10 were used.
    const first = await rig.ask({ tenant: 'a', request: { max_tokens: 200 } })
    expect(remaining(first.headers)).toBe(790)
    const second = await rig.ask({ tenant: 'a', request: { max_tokens: 200 } })
    expect(remaining(second.headers)).toBe(1000 - 20 - 210)
  })

  test('of one tenant are not those of another', async () => {
    const rig = createRig(perMinute(30))
    expect((await rig.ask({ tenant: 'a' })).error).toBeUndefined()
    expect((await rig.ask({ tenant: 'a' })).error?.code).toBe('rate_limited')
    expect((await rig.ask({ tenant: 'b' })).error).toBeUndefined()
  })

  test('a call that does not fit now gets a 429 before the runner is asked, with the seconds after which it fits', async () => {
    const rig = createRig(perMinute(1000))
    await rig.ask({ tenant: 'a', words: 500, inside: answering(400) })
    const inside = vi.fn(answering(1))
    const { error } = await rig.ask({ tenant: 'a', words: 290, inside })
    expect(inside).not.toHaveBeenCalled()
    expect(error).toMatchObject({ code: 'rate_limited', status: 429 })
    // 300 are needed, 100 are left, and 1000 come back each minute.
    expect(errorHeaders(error!)['retry-after']).toBe('12')
    rig.host.clock.advance(12_000)
    expect((await rig.ask({ tenant: 'a', words: 290 })).error).toBeUndefined()
  })

  test('a call that can never fit is refused for good, without a time to try again', async () => {
    const rig = createRig(perMinute(1000))
    const { error } = await rig.ask({ tenant: 'a', words: 1200 })
    expect(error).toMatchObject({ code: 'exceeds_rate_limit', status: 400 })
    expect(error?.detail.retryAfterMs).toBeUndefined()
    expect(errorHeaders(error!)).toEqual({})
    const asking = await rig.ask({ tenant: 'a', words: 10, request: { max_tokens: 991 } })
    expect(asking.error?.code).toBe('exceeds_rate_limit')
    // Where the request does not say how much it wants, a guess does not rule it out.
    const guessed = await createRig(perMinute(60)).ask({ tenant: 'a', words: 10, request: { max_tokens: undefined } })
    expect(guessed.error).toBeUndefined()
  })

  test('a burst may be larger or smaller than what comes back in a minute', async () => {
    const rig = createRig(perMinute(60, { burst_capacity: 300 }))
    expect((await rig.ask({ tenant: 'a', words: 250, inside: answering(0) })).error).toBeUndefined()
    expect((await rig.ask({ tenant: 'a', words: 45 })).error?.code).toBe('rate_limited')
    rig.host.clock.advance(5_000)
    expect((await rig.ask({ tenant: 'a', words: 45 })).error).toBeUndefined()
  })

  test('a cached answer costs a request and no tokens', async () => {
    const rig = createRig({ limits: [{ tokens_per_minute: 1000, requests_per_minute: 10 }] })
    const hit = await rig.ask({ tenant: 'a', inside: answering(10, { source: 'cache' }) })
    expect(hit.headers).toMatchObject({ 'x-ratelimit-remaining-tokens': '1000', 'x-ratelimit-remaining-requests': '9' })
    const next = await rig.ask({ tenant: 'a' })
    expect(next.headers).toMatchObject({ 'x-ratelimit-remaining-tokens': '980', 'x-ratelimit-remaining-requests': '8' })
  })

  test('real usage teaches the estimator, and usage beyond the reservation becomes debt', async () => {
    const rig = createRig(perMinute(1000))
    await rig.ask({ tenant: 'a', inside: answering(500) })
    expect(rig.host.learned).toHaveLength(1)
    expect(remaining((await rig.ask({ tenant: 'a' })).headers)).toBe(1000 - 510 - 20)
  })
})

describe('what went wrong is given back to the token', () => {
  const failures = {
    'an unreachable runner': () => Promise.reject(gatewayError('runner_unreachable', 'no connection')),
    'a timeout before the first byte': () => Promise.reject(gatewayError('runner_timeout', 'too late')),
    'a 401 of the runner': answering(0, { status: 401 }),
    'a 503 of the runner': answering(0, { status: 503 }),
    'a stream that fails before its first chunk': streaming(5, { failAfter: 0 }),
  }
  test.each(Object.entries(failures))('%s, a hundred times', async (_name, inside) => {
    const rig = createRig({ limits: [{ tokens_per_minute: 1000, requests_per_minute: 5, concurrent: 1 }] })
    for (let i = 0; i < 100; i++) await rig.ask({ tenant: 'a', inside, request: { max_tokens: 900, stream: true } })
    const { headers } = await rig.ask({ tenant: 'a' })
    expect(headers).toMatchObject({ 'x-ratelimit-remaining-tokens': '980', 'x-ratelimit-remaining-requests': '4' })
    expect(rig.host.counts.get('rate-limit.refunded')).toBe(100)
  })

  test('a mistake of the caller costs the request but no tokens', async () => {
    const rig = createRig({ limits: [{ tokens_per_minute: 1000, requests_per_minute: 5 }] })
    await rig.ask({ tenant: 'a', inside: answering(0, { status: 422 }) })
    const { headers } = await rig.ask({ tenant: 'a' })
    expect(headers).toMatchObject({ 'x-ratelimit-remaining-tokens': '980', 'x-ratelimit-remaining-requests': '3' })
  })

  test('short streams with a large max_tokens settle to what they used', async () => {
    const rig = createRig(perMinute(5000))
    const inside = streaming(3, { usage: { prompt_tokens: 10, completion_tokens: 3 } })
    for (let i = 0; i < 100; i++) {
      expect(
        (await rig.ask({ tenant: 'a', inside, request: { max_tokens: 3000, stream: true } })).error,
      ).toBeUndefined()
    }
    expect(remaining((await rig.ask({ tenant: 'a' })).headers)).toBe(5000 - 1300 - 20)
  })

  test('a stream that breaks off costs its prompt and what had come', async () => {
    const rig = createRig(perMinute(1000))
    const { error } = await rig.ask({ tenant: 'a', inside: streaming(50, { failAfter: 7 }), request: { stream: true } })
    expect(error).toBeDefined()
    expect(remaining((await rig.ask({ tenant: 'a' })).headers)).toBe(1000 - 17 - 20)
    expect(rig.host.counts.get('rate-limit.estimated-usage')).toBe(1)
  })

  test('a caller who leaves in the middle pays for what had come; one who leaves before it, nothing', async () => {
    const rig = createRig(perMinute(1000))
    const reply = await rig.start({ tenant: 'a', inside: streaming(50), request: { stream: true } })
    let seen = 0
    for await (const _ of reply.bytes()) if (++seen === 5) break
    const leaving = new AbortController()
    await rig.start({ tenant: 'a', inside: streaming(50), request: { stream: true }, signal: leaving.signal })
    leaving.abort()
    expect(remaining((await rig.ask({ tenant: 'a' })).headers)).toBe(1000 - 15 - 20)
  })

  test('a caller who leaves while the store is asked leaves nothing behind', async () => {
    const rig = createRig({ limits: [{ tokens_per_minute: 1000, concurrent: 1 }] })
    const leaving = new AbortController()
    const asked = rig.start({ tenant: 'a', signal: leaving.signal })
    leaving.abort()
    await expect(asked).rejects.toMatchObject({ code: 'client_closed' })
    const next = await rig.ask({ tenant: 'a' })
    expect(remaining(next.headers)).toBe(980)
  })
})

describe('usage that nobody reports', () => {
  test('is counted here and marked as an estimate', async () => {
    const rig = createRig(perMinute(20_000))
    await rig.ask({ tenant: 'a', inside: streaming(5000), request: { stream: true } })
    expect(rig.host.counts.get('rate-limit.estimated-usage')).toBe(1)
    const spent = 20_000 - 20 - remaining((await rig.ask({ tenant: 'a' })).headers)
    expect(spent).toBeGreaterThanOrEqual(5010)
    expect(spent).toBeLessThan(5030)
  })
})

describe('requests', () => {
  test('alone need no max_tokens, no estimate and no look at the body or the answer', async () => {
    const rig = createRig({ limits: [{ requests_per_minute: 2 }] })
    const estimate = vi.spyOn(rig.host.tokens, 'estimate')
    const raw = Buffer.from('data: anything\n\ndata: [DONE]\n\n')
    const inside = () =>
      replyFromBytes(
        { status: 200, streamed: true, source: 'runner' },
        'events',
        (async function* () {
          yield raw
        })(),
      )
    const first = await rig.ask({ tenant: 'a', body: Buffer.from('this is no json'), inside })
    expect(first.text).toBe(String(raw))
    expect(first.headers).toMatchObject({ 'x-ratelimit-limit-requests': '2', 'x-ratelimit-remaining-requests': '1' })
    expect(first.headers['x-ratelimit-limit-tokens']).toBeUndefined()
    await rig.ask({ tenant: 'a', request: { max_tokens: 1_000_000 } })
    const third = await rig.ask({ tenant: 'a' })
    expect(third.error?.code).toBe('rate_limited')
    expect(errorHeaders(third.error!)['retry-after']).toBe('30')
    expect(estimate).not.toHaveBeenCalled()
  })

  test('are all that counts on passed-through calls and lists of models', async () => {
    const rig = createRig({
      limits: [{ key_fields: ['tenant', 'body.user'], tokens_per_minute: 10, requests_per_minute: 2, concurrent: 1 }],
    })
    const body = Buffer.from('not json')
    for (const route of ['models', 'passthrough'] as const) {
      expect((await rig.ask({ tenant: 'a', route, body, inside: streaming(1) })).error).toBeUndefined()
    }
    expect((await rig.ask({ tenant: 'a', route: 'models', body })).error?.code).toBe('rate_limited')
  })
})

describe('calls under way', () => {
  test('are bounded, and a refused call takes nothing', async () => {
    const rig = createRig({ limits: [{ concurrent: 2, requests_per_minute: 100 }] })
    const open = [await rig.start({ tenant: 'a' }), await rig.start({ tenant: 'a' })]
    const third = await rig.ask({ tenant: 'a' })
    expect(third.error?.code).toBe('rate_limited')
    expect(errorHeaders(third.error!)['retry-after']).toBe('1')
    for await (const _ of open[0]!.bytes());
    const fourth = await rig.ask({ tenant: 'a' })
    expect(fourth.headers['x-ratelimit-remaining-requests']).toBe('97')
  })

  test('come back however a stream ends, five hundred times over', async () => {
    const rig = createRig({ limits: [{ concurrent: 1 }] })
    for (let i = 0; i < 500; i++) {
      const leaving = new AbortController()
      const ask = { tenant: 'a', inside: streaming(6), request: { stream: true }, signal: leaving.signal }
      const starting = rig.start(ask)
      // Abort while it is asked for, before it is read, in the middle, or during the release at the end.
      if (i % 4 === 0) leaving.abort()
      const reply = await starting.catch(() => undefined)
      if (i % 4 === 1) leaving.abort()
      let seen = 0
      if (reply && i % 4 > 1) for await (const _ of reply.bytes()) if (++seen === 3 && i % 4 === 2) leaving.abort()
      leaving.abort()
    }
    expect((await rig.ask({ tenant: 'a' })).error).toBeUndefined()
  })

  test('of a crashed replica end with their lease; a replica that lives renews them', async () => {
    vi.useFakeTimers()
    try {
      const crashed = createRig({ limits: [{ concurrent: 1 }], leaseMs: 30_000 })
      const { store, clock } = crashed.host
      const living = createRig({ limits: [{ concurrent: 1 }], leaseMs: 30_000 }, { store, clock })
      await living.start({ tenant: 'b' })
      await crashed.start({ tenant: 'a' })
      await crashed.acting.close?.()
      expect((await living.ask({ tenant: 'a' })).error?.code).toBe('rate_limited')
      for (let i = 0; i < 4; i++) {
        clock.advance(10_000)
        await vi.advanceTimersByTimeAsync(10_000)
      }
      expect((await living.ask({ tenant: 'a' })).error).toBeUndefined()
      expect((await living.ask({ tenant: 'b' })).error?.code).toBe('rate_limited')
      await living.acting.close?.()
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('several limits', () => {
  test('hold together: what one refuses the others give back', async () => {
    const limits = [
      { key_fields: ['tenant'], tokens_per_minute: 1000 },
      { key_fields: ['client_ip'], requests_per_minute: 1 },
    ]
    const rig = createRig({ limits })
    await rig.ask({ tenant: 'a', ip: '10.0.0.1' })
    expect((await rig.ask({ tenant: 'a', ip: '10.0.0.1' })).error?.code).toBe('rate_limited')
    const other = await rig.ask({ tenant: 'a', ip: '10.0.0.2' })
    expect(remaining(other.headers)).toBe(1000 - 20 - 20)
  })

  test('of one tenant are taken in one step, those without a tenant one after another', async () => {
    const limits = [
      { key_fields: ['tenant'], tokens_per_minute: 1000, requests_per_minute: 10, concurrent: 5 },
      { key_fields: ['tenant', 'id'], requests_per_minute: 10 },
      { key_fields: [], requests_per_minute: 100 },
    ]
    const rig = createRig({ limits })
    const run = vi.spyOn(rig.host.store, 'run')
    await rig.start({ tenant: 'acme}{x' })
    expect(run.mock.calls.map(([, keys]) => keys.length)).toEqual([4, 1])
    const [, keys] = run.mock.calls[0]!
    expect(new Set(keys.map((key) => /\{([^{}]*)\}/.exec(key)?.[1])).size).toBe(1)
  })

  test('say the one that is nearest to its end, and all of them in RateLimit', async () => {
    const limits = [
      { name: 'team', tokens_per_minute: 10_000, requests_per_minute: 60 },
      { name: 'person', key_fields: ['tenant', 'id'], tokens_per_minute: 100, concurrent: 4 },
    ]
    const { headers } = await createRig({ limits }).ask({ tenant: 'a' })
    expect(headers).toMatchObject({
      'x-ratelimit-limit-tokens': '100',
      'x-ratelimit-remaining-tokens': '80',
      'x-ratelimit-reset-tokens': '12s',
      'x-ratelimit-limit-requests': '60',
      'x-ratelimit-remaining-requests': '59',
      'x-ratelimit-reset-requests': '1s',
    })
    const policy = parseList(headers['ratelimit-policy']!).map(([name, parameters]) => [
      name,
      Object.fromEntries(parameters),
    ])
    expect(policy).toEqual([
      ['team-tokens', { q: 10_000, w: 60, qu: 'tokens' }],
      ['team-requests', { q: 60, w: 60, qu: 'requests' }],
      ['person-tokens', { q: 100, w: 60, qu: 'tokens' }],
      ['person-concurrent', { q: 4, qu: 'concurrent-requests' }],
    ])
    const left = parseList(headers['ratelimit']!).map(([name, parameters]) => [name, Object.fromEntries(parameters)])
    expect(left).toEqual([
      ['team-tokens', { r: 9980, t: 1 }],
      ['team-requests', { r: 59, t: 1 }],
      ['person-tokens', { r: 80, t: 12 }],
      ['person-concurrent', { r: 3 }],
    ])
  })
})

test('the messages route is told in the dialect of Anthropic', async () => {
  const rig = createRig({ limits: [{ tokens_per_minute: 100, requests_per_minute: 1 }] })
  const { headers } = await rig.ask({ tenant: 'a', route: 'messages' })
  expect(headers).toMatchObject({
    'anthropic-ratelimit-tokens-limit': '100',
    'anthropic-ratelimit-tokens-remaining': '80',
    'anthropic-ratelimit-tokens-reset': '2023-11-14T22:13:32Z',
    'anthropic-ratelimit-requests-limit': '1',
    'anthropic-ratelimit-requests-remaining': '0',
  })
  expect(Object.keys(headers).some((name) => name.startsWith('x-ratelimit'))).toBe(false)
  const { error } = await rig.ask({ tenant: 'a', route: 'messages' })
  expect(anthropicErrorBody(error!)).toMatchObject({ error: { type: 'rate_limit_error' } })
  expect(errorHeaders(error!)).toMatchObject({ 'anthropic-ratelimit-requests-remaining': '0', 'retry-after': '60' })
})

describe('tiers', () => {
  const config = {
    limits: [
      { key_fields: ['tenant'], tokens_per_minute: 100, tiers: { gold: { tokens_per_minute: 400 } } },
      { key_fields: ['client_ip'], requests_per_minute: 1000 },
    ],
    tiers: { vip: { tokens_per_minute: 500 }, free: { concurrent: 1 }, staff: { tokens_per_minute: null } },
  }
  test.each([
    ['', '100'],
    ['vip', '500'],
    ['gold', '400'],
    ['staff', undefined],
    ['constructor', '100'],
  ])('%s has its own amounts', async (tier, limit) => {
    const { headers } = await createRig(config).ask({ tenant: 'a', tier })
    expect(headers['x-ratelimit-limit-tokens']).toBe(limit)
    expect(headers['x-ratelimit-limit-requests']).toBe('1000')
  })

  test('may add what no limit has', async () => {
    const rig = createRig(config)
    await rig.start({ tenant: 'a', tier: 'free' })
    expect((await rig.ask({ tenant: 'a', tier: 'free' })).error?.code).toBe('rate_limited')
    expect((await rig.ask({ tenant: 'a', tier: 'vip' })).error).toBeUndefined()
  })
})

describe('an estimate next to a limit', () => {
  const doubtful = (input: number, exact: number | undefined) => {
    const rig = createRig(perMinute(1000))
    rig.host.tokens.estimate = () => ({ input, error: 100, output: 0 })
    rig.host.tokens.exact = vi.fn(async () => exact)
    return rig
  }
  test('is counted exactly where that decides, and nowhere else', async () => {
    const sure = doubtful(500, 500)
    await sure.ask({ tenant: 'a' })
    expect(sure.host.tokens.exact).not.toHaveBeenCalled()
    expect((await doubtful(1050, 990).ask({ tenant: 'a' })).error).toBeUndefined()
    expect((await doubtful(950, 1010).ask({ tenant: 'a' })).error?.code).toBe('exceeds_rate_limit')
  })

  test('stands where no runner can count', async () => {
    expect((await doubtful(1050, undefined).ask({ tenant: 'a' })).error?.code).toBe('exceeds_rate_limit')
    expect((await doubtful(950, undefined).ask({ tenant: 'a' })).error).toBeUndefined()
  })

  test('decides by the exact count against what is left, too', async () => {
    const rig = doubtful(550, 400)
    rig.host.tokens.estimate = () => ({ input: 500, error: 0, output: 0 })
    await rig.ask({ tenant: 'a', inside: answering(490) })
    rig.host.tokens.estimate = () => ({ input: 550, error: 200, output: 0 })
    expect((await rig.ask({ tenant: 'a' })).error).toBeUndefined()
    expect(rig.host.tokens.exact).toHaveBeenCalledTimes(1)
  })
})

describe('cutStreams', () => {
  const cutting = (tokens: number) => ({ ...perMinute(tokens), cutStreams: true })

  test('ends a stream in band once the limits have nothing left, and charges what had come', async () => {
    const rig = createRig(cutting(1000))
    const ask = { tenant: 'a', inside: streaming(5000), request: { stream: true, max_tokens: undefined } }
    const { error, text } = await rig.ask(ask)
    expect(error).toMatchObject({ code: 'rate_limited' })
    const chunks = text.split('data: ').length - 1
    expect(chunks).toBeGreaterThan(900)
    expect(chunks).toBeLessThan(1100)
    expect(rig.host.counts.get('rate-limit.cut')).toBe(1)
    expect((await rig.ask({ tenant: 'a' })).error?.code).toBe('rate_limited')
  })

  test('lets a stream go on that needs more than was expected, while there is more', async () => {
    const rig = createRig(cutting(10_000))
    const { error } = await rig.ask({
      tenant: 'a',
      inside: streaming(3000),
      request: { stream: true, max_tokens: undefined },
    })
    expect(error).toBeUndefined()
    const spent = 10_000 - 20 - remaining((await rig.ask({ tenant: 'a' })).headers)
    expect(spent).toBeGreaterThanOrEqual(3010)
    expect(spent).toBeLessThan(3050)
  })

  test('does not touch a JSON answer', async () => {
    const { error } = await createRig(cutting(100)).ask({ tenant: 'a', inside: answering(5000) })
    expect(error).toBeUndefined()
  })
})

test('a body that is not JSON is the error it is, where tokens are counted', async () => {
  const rig = createRig(perMinute(100))
  expect((await rig.ask({ tenant: 'a', body: Buffer.from('{') })).error?.code).toBe('invalid_json')
  expect(rig.host.counts.get('rate-limit.refused')).toBeUndefined()
})

test('callers without a tenant share one count', async () => {
  const rig = createRig(perMinute(30))
  expect((await rig.ask({})).error).toBeUndefined()
  expect((await rig.ask({})).error?.code).toBe('rate_limited')
})
