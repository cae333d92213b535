import { describe, expect, test, vi } from 'vitest'
import { createStore } from '../../config/store/index.ts'
import { storeSchema } from '../../config/store.ts'
import type { Call } from '../call.ts'
import { gatewayError } from '../errors.ts'
import { maxReadsBytes } from '../execution-context-facts.ts'
import { through } from '../stack.ts'
import type { Verdict } from '../verdict.ts'
import { unitsEach } from './bucket.ts'
import { answering, createRig, type Rig, streaming } from './test-rig.ts'

const perMinute = (tokens: number, more: object = {}) => ({
  limits: [{ key_fields: ['tenant'], tokens_per_minute: tokens, ...more }],
})
const beside = { tenant: 'a', mode: 'observe' } as const

/** What is spent of the first quota, in whole tokens or requests, found by a question that is given back. */
async function spent(rig: Rig, ask: object = { tenant: 'a', words: 1, request: { max_tokens: 1 } }): Promise<number> {
  const call = rig.callOf(ask)
  await rig.acting.decide?.(call, 'enforce')
  const level = Number(rig.acting.reads?.(call)?.['q0'])
  rig.acting.release?.(call)
  await rig.acting.close?.()
  return level / unitsEach
}

describe('an observer', () => {
  test('keeps the counters of its side where they would stand had it decided', async () => {
    const inside = {
      json: answering(7),
      stream: streaming(12, { usage: { prompt_tokens: 10, completion_tokens: 12 } }),
      'a stream that reports nothing': streaming(12),
      'a cached answer': answering(10, { source: 'cache' }),
      'a mistake of the caller': answering(0, { status: 422 }),
      'a refusal of the runner': answering(0, { status: 503 }),
      'no answer': () => Promise.reject(gatewayError('runner_unreachable', 'no connection')),
    }
    for (const [title, runner] of Object.entries(inside)) {
      const levels: number[] = []
      for (const mode of ['enforce', 'observe'] as const) {
        const rig = createRig(perMinute(1000))
        await rig.ask({
          tenant: 'a',
          mode,
          inside: runner,
          request: { max_tokens: 200, stream: title.includes('stream') },
        })
        levels.push(await spent(rig))
      }
      expect([title, levels[1]]).toEqual([title, levels[0]])
    }
  })

  test('counts an answer that was there at once, and over before its copy was looked at', async () => {
    const rig = createRig(perMinute(1000))
    const reply = await rig.start({ ...beside, inside: answering(7) })
    await reply.whole()
    // The copy is read beside the call, by nobody that this test could wait for.
    await vi.waitFor(async () => expect(await spent(rig)).toBe(17))
  })

  test('counts to the full what went by while its own limit had no room, and nothing that did not', async () => {
    const rig = createRig(perMinute(50))
    const refused = async () => Promise.reject(gatewayError('rate_limited', 'refused over there'))
    for (let i = 0; i < 5; i++) await rig.ask({ ...beside, inside: answering(20) })
    expect(await spent(createShared(rig, 100_000))).toBe(150)
    await rig.ask({ ...beside, inside: refused })
    expect(await spent(createShared(rig, 100_000))).toBe(150)
  })

  test('never gets in the way: nothing refused, cut, counted, told or learned', async () => {
    const rig = createRig({ ...perMinute(50, { concurrent: 1 }), cutStreams: true })
    const ask = { ...beside, inside: streaming(500), request: { stream: true } }
    for (let i = 0; i < 3; i++) {
      const { error, text, headers } = await rig.ask(ask)
      expect(error).toBeUndefined()
      expect(text).toContain('w499')
      expect(headers).toEqual({})
    }
    await rig.ask({ ...beside, inside: answering(5) })
    await rig.ask({ ...beside, words: 900 })
    expect(Object.fromEntries(rig.host.counts)).toEqual({})
    expect(rig.host.learned).toEqual([])
  })

  test('counts calls under way as who decides does, and frees them', async () => {
    const rig = createRig({ limits: [{ concurrent: 2 }] })
    const open = [await rig.start(beside), await rig.start(beside)]
    expect((await rig.ask({ tenant: 'a' })).error?.code).toBe('rate_limited')
    for (const reply of open) for await (const _ of reply.bytes());
    await rig.acting.close?.()
    expect((await rig.ask({ tenant: 'a' })).error).toBeUndefined()
  })

  test('shares its keys with who decides on its side, and with no other side', async () => {
    const rig = createRig(perMinute(1000))
    await rig.ask({ tenant: 'a' })
    await rig.ask({ ...beside })
    expect(await spent(rig)).toBe(40)
    for (const side of ['runner', 'copy'] as const) {
      const other = createRig(perMinute(1000), { store: rig.host.store, clock: rig.host.clock, side })
      expect(await spent(other)).toBe(0)
      await other.ask({ tenant: 'a' })
    }
    expect(await spent(rig)).toBe(40)
  })
})

/** The same counters under a limit that has room for a question. */
function createShared(rig: Rig, tokens: number): Rig {
  return createRig(perMinute(tokens), { store: rig.host.store, clock: rig.host.clock })
}

describe('what a decision rested on', () => {
  const judge = async (config: object, ask: object): Promise<readonly Verdict[]> => {
    const gateway = createRig(config)
    for (let i = 0; i < 3; i++) await gateway.ask({ tenant: 'a', inside: answering(30) })
    const runner = createRig(config, { side: 'runner' })
    // The runner reckons otherwise, and its own counters are empty.
    runner.host.tokens.estimate = () => ({ input: 1, error: 500, output: 1 })
    const call = gateway.callOf(ask)
    const first = await gateway.acting.decide?.(call, 'enforce')
    const reads = JSON.parse(JSON.stringify(gateway.acting.reads?.(call)))
    const second = await runner.acting.decide?.(call, 'observe', reads)
    return [first as Verdict, second as Verdict]
  }
  const codeOf = (verdict: Verdict) => (verdict.kind === 'refuse' ? verdict.error.code : verdict.kind)

  test.each([
    ['a call that fits', perMinute(200), { tenant: 'a' }, 'pass'],
    ['a call that does not', perMinute(130), { tenant: 'a' }, 'rate_limited'],
    ['a call that never will', perMinute(130), { tenant: 'a', words: 500 }, 'exceeds_rate_limit'],
    ['requests', { limits: [{ requests_per_minute: 3 }] }, { tenant: 'a' }, 'rate_limited'],
    [
      'the second of two limits',
      { limits: [{ key_fields: ['client_ip'], tokens_per_minute: 1000 }, { requests_per_minute: 3 }] },
      { tenant: 'a' },
      'rate_limited',
    ],
  ])('lets the other side judge %s alike', async (_, config, ask, code) => {
    expect((await judge(config, ask)).map(codeOf)).toEqual([code, code])
  })

  test('is exactly the level and the estimate, and stays within its bytes however many limits there are', async () => {
    const rig = createRig(perMinute(100, { requests_per_minute: 9 }))
    await rig.ask({ tenant: 'a' })
    const call = rig.callOf({ tenant: 'a' })
    await rig.acting.decide?.(call, 'enforce')
    expect(rig.acting.reads?.(call)).toEqual({ in: 10, out: 10, q0: 20 * unitsEach, q1: unitsEach })

    const limits = Array.from({ length: 32 }, (_, i) => ({
      name: `limit-${i}`,
      tokens_per_minute: i === 31 ? 7_000_000_000 : 10_000_000_000,
      requests_per_minute: 1_000_000,
    }))
    const wide = createRig({ limits })
    wide.host.tokens.estimate = () => ({ input: 3_999_999_999, error: 0, output: 1 })
    await wide.start({ tenant: 'a' })
    const refused = wide.callOf({ tenant: 'a' })
    expect(await wide.acting.decide?.(refused, 'enforce')).toMatchObject({ error: { code: 'rate_limited' } })
    const reads = wide.acting.reads?.(refused)
    expect(JSON.stringify(reads).length).toBeLessThanOrEqual(maxReadsBytes)
    const other = createRig({ limits }, { side: 'runner' })
    expect(await other.acting.decide?.(refused, 'observe', reads)).toMatchObject({ error: { code: 'rate_limited' } })
  })

  test('is gone once the call is over', async () => {
    const rig = createRig(perMinute(15))
    const call = rig.callOf({ tenant: 'a' })
    await rig.acting.decide?.(call, 'enforce')
    expect(rig.acting.reads?.(call)).toEqual({ in: 10, out: 10 })
    rig.acting.release?.(call)
    expect(rig.acting.reads?.(call)).toBeUndefined()
  })

  test('says that the store was away, and the other side says the same of it', async () => {
    for (const [onLoss, kind] of [
      ['open', 'pass'],
      ['closed', 'refuse'],
    ] as const) {
      const away = { kind: 'redis', url: 'redis://127.0.0.1:1', onLoss, commandTimeoutMs: 50 }
      await using store = disposable(await createStore(storeSchema.parse(away), { now: () => Date.now() }, silent))
      const rig = createRig(perMinute(100), { store })
      const call = rig.callOf({ tenant: 'a' })
      expect(await rig.acting.decide?.(call, 'enforce')).toMatchObject({ kind })
      const reads = rig.acting.reads?.(call)
      expect(reads).toEqual({ lost: onLoss })
      const other = createRig(perMinute(100), { side: 'runner' })
      expect(await other.acting.decide?.(call, 'observe', reads)).toMatchObject({ kind })
    }
  })
})
const silent = { info() {}, warn() {}, error() {} }
function disposable<T extends { close(): Promise<void> }>(store: T): T & AsyncDisposable {
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() })
}

describe('what the acknowledgement says', () => {
  test('tokens reserved, left and the bucket when the answer begins; tokens used at its end', async () => {
    const rig = createRig({ limits: [{ tokens_per_minute: 1000, requests_per_minute: 5 }] })
    const said: unknown[] = []
    const inside = async (call: Call) => {
      said.push(rig.acting.notes?.(call))
      return streaming(3, { usage: { prompt_tokens: 10, completion_tokens: 3 } })()
    }
    const ending = (_: unknown, call: Call) => void said.push(rig.acting.notes?.(call))
    const seats = [{ name: 'rate-limit', acting: rig.acting, mode: 'enforce' as const }]
    const call = rig.callOf({ tenant: 'a', request: { max_tokens: 90, stream: true } })
    const reply = await through(seats, call, { inside, witness: { heard() {}, ending } })
    for await (const _ of reply.bytes());
    const bkt = expect.stringMatching(/^[0-9a-f]{16}$/)
    expect(said).toEqual([
      { rsv: 100, rem: 900, bkt },
      { rsv: 100, rem: 900, bkt, used: 13 },
    ])
  })

  test('a refused call reserves nothing', async () => {
    const rig = createRig(perMinute(25))
    await rig.ask({ tenant: 'a' })
    const call = rig.callOf({ tenant: 'a' })
    await rig.acting.decide?.(call, 'enforce')
    expect(rig.acting.notes?.(call)).toEqual({ rem: 5, bkt: expect.any(String) })
  })
})

describe('usage that the gateway posts', () => {
  test('of a call that the runner limited is charged like its own, also over the limit', async () => {
    const rig = createRig(perMinute(100, { requests_per_minute: 60, concurrent: 1 }))
    rig.acting.charge?.(rig.callOf({ tenant: 'a' }), 70)
    rig.acting.charge?.(rig.callOf({ tenant: 'a' }), 70)
    rig.acting.charge?.(rig.callOf({ tenant: 'b' }), Number.NaN)
    await rig.acting.close?.()
    const call = rig.callOf({ tenant: 'a' })
    expect(await rig.acting.decide?.(call, 'enforce')).toMatchObject({ error: { code: 'rate_limited' } })
    expect(rig.acting.reads?.(call)).toMatchObject({ q0: 140 * unitsEach, q1: 2 * unitsEach, q2: 0 })
    const other = rig.callOf({ tenant: 'b' })
    await rig.acting.decide?.(other, 'enforce')
    expect(rig.acting.reads?.(other)).toMatchObject({ q0: 0, q1: unitsEach })
  })

  test('that cannot be posted is said and fails nothing', async () => {
    const rig = createRig(perMinute(100))
    vi.spyOn(rig.host.store, 'run').mockRejectedValue(gatewayError('store_lost', 'away'))
    rig.acting.charge?.(rig.callOf({ tenant: 'a' }), 70)
    await rig.acting.close?.()
    expect(rig.host.counts.get('rate-limit.store-lost')).toBe(1)
    expect(rig.host.lines).toMatchObject([{ level: 'warn', fields: { code: 'store_lost' } }])
  })
})
