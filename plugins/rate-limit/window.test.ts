import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createEmbeddedStore } from '../../config/store/embedded.ts'
import { createStore } from '../../config/store/index.ts'
import { storeSchema } from '../../config/store.ts'
import { createManualClock } from '../../test/support/clock.ts'
import { type Redis, redisAvailable, startServer } from '../../test/support/redis.ts'
import type { Store } from '../store.ts'
import { bucketAt, charged, refunded, unitsEach, untouched } from './bucket.ts'
import { reserveScript, settleScript } from './window.ts'

const T0 = 1_700_000_000_000
const instants = fc.integer({ min: 0, max: 120_000 })

interface Visit {
  readonly start: number
  readonly lasts: number
  readonly reserved: number
  readonly used: number
}
const visit = fc.record<Visit>({
  start: instants,
  lasts: instants,
  reserved: fc.integer({ min: 0, max: 900 }),
  used: fc.integer({ min: 0, max: 900 }),
})

/** The debt at `end` when every call had been charged what it used when it began, and what it used beyond that when it ended. */
function ledger(visits: readonly Visit[], perMinute: number, end: number): number {
  const charges = visits.flatMap(({ start, lasts, reserved, used }) => [
    { at: T0 + start, units: Math.min(reserved, used) * unitsEach },
    { at: T0 + start + lasts, units: Math.max(0, used - reserved) * unitsEach },
  ])
  let bucket = untouched
  for (const { at, units } of charges.toSorted((a, b) => a.at - b.at))
    bucket = charged(bucketAt(bucket, at, perMinute), units)
  return bucketAt(bucket, end, perMinute).debt
}

describe('a bucket', () => {
  test('ends up where it would be had every call been charged its real usage from the start', () => {
    fc.assert(
      fc.property(fc.array(visit, { maxLength: 12 }), fc.integer({ min: 1, max: 5000 }), (visits, perMinute) => {
        const steps = visits.flatMap((each) => [
          { at: T0 + each.start, each, begins: true },
          { at: T0 + each.start + each.lasts, each, begins: false },
        ])
        let bucket = untouched
        for (const { at, each, begins } of steps.toSorted(
          (a, b) => a.at - b.at || Number(b.begins) - Number(a.begins),
        )) {
          bucket = bucketAt(bucket, at, perMinute)
          const over = (each.used - each.reserved) * unitsEach
          if (begins) bucket = charged(bucket, each.reserved * unitsEach)
          else bucket = over > 0 ? charged(bucket, over) : refunded(bucket, -over, T0 + each.start)
        }
        expect(bucketAt(bucket, T0 + 240_000, perMinute).debt).toBe(ledger(visits, perMinute, T0 + 240_000))
        const end = Math.max(T0, ...steps.map((step) => step.at))
        expect(bucketAt(bucket, end, perMinute).debt).toBe(ledger(visits, perMinute, end))
      }),
      { seed: 7, numRuns: 2000 },
    )
  })

  test('does not hand out idle budget twice: a late refund forgives nobody else', () => {
    const perMinute = 1000
    let bucket = charged(bucketAt(untouched, T0, perMinute), 900 * unitsEach)
    bucket = charged(bucketAt(bucket, T0 + 54_000, perMinute), 900 * unitsEach)
    bucket = refunded(bucketAt(bucket, T0 + 54_000, perMinute), 890 * unitsEach, T0)
    expect(bucket.debt).toBe(900 * unitsEach)
  })

  test('keeps a bounded number of low points, and then refunds rather less', () => {
    let bucket = untouched
    for (let i = 0; i < 200; i++) bucket = charged(bucketAt(bucket, T0 + i * 10, 60), 5 * unitsEach)
    expect(bucket.lows.length).toBeLessThanOrEqual(16)
    const back = refunded(bucketAt(bucket, T0 + 2000, 60), 5 * unitsEach, T0 + 1)
    expect(back.debt).toBeGreaterThanOrEqual(bucket.debt - 5 * unitsEach - 60 * 10)
    expect(back.debt).toBeLessThanOrEqual(bucket.debt)
  })
})

interface Step {
  readonly after: number
  readonly op: 'take' | 'settle' | 'renew'
  readonly a: number
  readonly b: number
}
const step = fc.record<Step>({
  after: fc.integer({ min: 0, max: 20_000 }),
  op: fc.constantFrom('take', 'settle', 'renew'),
  a: fc.integer({ min: 0, max: 700 }),
  b: fc.integer({ min: 0, max: 700 }),
})

const leaseOf = (now: number) => Math.ceil((now + 30_000) / 7500) * 7500

async function play(store: Store, tag: string, steps: readonly Step[]): Promise<unknown[]> {
  const keys = [`{${tag}}tokens`, `{${tag}}requests`, `{${tag}}leases`]
  const said: unknown[] = []
  const taken: { at: number; ends: number; cost: number }[] = []
  let now = T0
  for (const { after, op, a, b } of steps) {
    now += after
    const call = taken[b % Math.max(1, taken.length)]
    const ends = leaseOf(now)
    if (op === 'take') {
      const args = [now, 'b', 1000, 1500, a, 'b', 60, 5, 1, 'l', 3, ends, 0]
      const result = await store.run(reserveScript, keys, args)
      said.push(result)
      if (result[0] === 1) taken.push({ at: Number(result[2]), ends, cost: a })
    } else if (call) {
      const bucket = ['b', 1000, call.cost, a, call.at, 'b', 60, 1, b % 2, call.at]
      const lease = ['l', 1, call.ends, op === 'renew' ? ends : 0, 0]
      said.push(await store.run(settleScript, keys, [now, ...bucket, ...lease]))
    }
  }
  return said
}

describe.skipIf(!redisAvailable)('both halves of the scripts', () => {
  let redis: Redis
  let store: Store
  beforeAll(async () => {
    redis = await startServer()
    const config = storeSchema.parse({ kind: 'redis', url: redis.url, onLoss: 'closed', commandTimeoutMs: 5000 })
    store = await createStore(config, { now: () => Date.now() }, { info() {}, warn() {}, error() {} })
  })
  afterAll(async () => {
    await store.close()
    await redis[Symbol.asyncDispose]()
  })

  test('agree on every sequence of takings, settlements and renewals', async () => {
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 30 }), async (steps) => {
        const tag = `run${run++}`
        const clock = createManualClock(T0)
        expect(await play(store, tag, steps)).toEqual(await play(createEmbeddedStore(clock), tag, steps))
      }),
      { seed: 11, numRuns: 150 },
    )
    expect(Number(await redis.cli('dbsize'))).toBeGreaterThan(10)
  })

  test('agree when a bucket has more low points than are kept', async () => {
    const takeAndSettle = async (on: Store): Promise<unknown[]> => {
      const said: unknown[] = []
      for (let i = 0; i < 40; i++) said.push(await on.run(reserveScript, ['many'], [T0 + i * 10, 'b', 60, 1000, 5]))
      for (const since of [5, 95, 205, 385]) {
        said.push(await on.run(settleScript, ['many'], [T0 + 500, 'b', 60, 5, 0, T0 + since]))
      }
      return said
    }
    expect(await takeAndSettle(store)).toEqual(await takeAndSettle(createEmbeddedStore(createManualClock(T0))))
  })

  test('leave nothing behind without an expiry', async () => {
    await play(store, 'ttl', [{ after: 0, op: 'take', a: 500, b: 0 }])
    const keys = (await redis.cli('keys', 'foldgate:{ttl}*')).split('\n')
    expect(keys).toHaveLength(3)
    for (const key of keys) expect(Number(await redis.cli('pttl', key))).toBeGreaterThan(0)
  })
})
