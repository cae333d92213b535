import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { RedisLine } from '../../../config/store/redis-line.ts'
import { gatewayError } from '../../../plugins/errors.ts'
import { until } from '../../../test/support/gate.ts'
import { type Redis, redisAvailable, startServer } from '../../../test/support/redis.ts'
import { stateKeys } from './scripts.ts'
import type { RolloutState } from './state.ts'
import { by, layerAt, move, recordingLog, shares } from './test-documents.ts'
import { createReplicas, createStoppableTimers, leaderOf } from './test-replicas.ts'

const tripOf = (rolloutId: string, layer = 'auth') => ({ rolloutId, gen: 1, layer, reason: 'bad' })
const key = (name: 'state' | 'log' | 'lease') => `foldgate:${stateKeys[name]}`
const shareOf = (state: RolloutState, id: string) => shares(state.known)[id]
const within2s = (ask: () => boolean | Promise<boolean>, what: string) => until(ask, what, 2_000)

describe.skipIf(!redisAvailable)('replicas over one Redis', { timeout: 30_000 }, () => {
  let redis: Redis
  let replicas: ReturnType<typeof createReplicas>
  beforeAll(async () => {
    redis = await startServer()
  })
  afterAll(() => redis[Symbol.asyncDispose]())
  beforeEach(async () => {
    await redis.cli('flushall')
    replicas = createReplicas({ url: redis.url })
  })
  afterEach(() => replicas[Symbol.asyncDispose]())

  test('one leads, and what it moves is known to the other', async () => {
    const [a, b] = [await replicas.open('a'), await replicas.open('b')]
    const leader = await leaderOf([a, b])
    expect([a, b].filter((state) => state.lead())).toHaveLength(1)
    const heard: number[] = []
    const stop = b.onChange(({ rev }) => heard.push(rev))
    expect(await move(leader, { auth: layerAt('canary', 'R1', { weight: 500 }) }, { evidence: { n: 930 } })).toBe(
      'done',
    )
    expect(shareOf(a, 'R1')).toBe(500)
    await within2s(() => shareOf(b, 'R1') === 500, 'b knows')
    expect(heard).toEqual([1])
    stop()
    expect(await b.history(10)).toMatchObject([
      {
        rev: 1,
        kind: 'transition',
        by,
        replica: 'a',
        evidence: { n: 930 },
        layers: { auth: { to: { stage: 'canary' } } },
      },
    ])
    expect([a.condition, b.condition]).toEqual(['up', 'up'])
  })

  test('whoever is given the lease acts only after two rounds, and not while another knows more than the store', async () => {
    const began = performance.now()
    const a = await replicas.open('a', { pollMs: 200 })
    expect([await redis.cli('exists', key('lease')), a.lead()]).toEqual(['1', undefined])
    await leaderOf([a])
    expect(performance.now() - began).toBeGreaterThan(400)
    await a.close()
    const [seconds] = (await redis.cli('time')).split('\n')
    await redis.cli('hset', `foldgate:${stateKeys.seen}`, 'b:1', `${Number(seconds) * 1_000} {"rev":5,"trips":[]}`)
    const c = await replicas.open('c')
    await until(async () => (await redis.cli('get', key('lease'))).startsWith('c:'), 'c has the lease')
    await leaderOf([c])
    // From then on b, which was seen last in that second, is taken for gone.
    expect(Number((await redis.cli('time')).split('\n')[0]) - Number(seconds)).toBeGreaterThanOrEqual(2)
  })

  test('a change reaches the others by looking where announcements are lost (scenario 13)', async () => {
    const deaf = (line: RedisLine): RedisLine => ({ ...line, listen: async () => {} })
    const [a, b] = [await replicas.open('a'), await replicas.open('b', { between: deaf })]
    await move(await leaderOf([a]), { auth: layerAt('shadow', 'R1') })
    await until(() => b.known.rev === 1, 'b knows', 1_000)
  })

  test('an announcement is heard long before the next look', async () => {
    const [a, b] = [await replicas.open('a'), await replicas.open('b', { pollMs: 60_000 })]
    const leader = await leaderOf([a])
    await until(
      async () => (await redis.cli('pubsub', 'numsub', `${key('state')}:changed`)).endsWith('2'),
      'both listen',
    )
    await move(leader, { auth: layerAt('shadow', 'R1') })
    await until(() => b.known.rev === 1, 'b knows', 1_000)
  })

  test('a change on another revision, of a tripped rollout, with another fence or of a second layer is refused (scenario 32)', async () => {
    const [a, b] = [await replicas.open('a'), await replicas.open('b')]
    const leader = await leaderOf([a])
    const auth = layerAt('canary', 'R1')
    expect(await move(leader, { auth })).toBe('done')
    expect(await move(leader, { auth }, { expectedRev: 0 })).toBe('stale')
    expect(await move(leader, { auth: { ...auth, gen: 0 } })).toBe('stale')
    expect(await move(leader, { cache: layerAt('shadow', 'R2') })).toBe('second-layer')
    expect(await move(leader, { auth }, { fence: leader.fence + 1 })).toBe('fenced')
    expect(await move(b, { auth }, { fence: leader.fence })).toBe('fenced')
    await leader.trip(tripOf('R1'))
    expect(await move(leader, { auth })).toBe('tripped')
    expect(await move(leader, { auth: layerAt('shadow', 'R2', { gen: 2 }) })).toBe('done')
  })

  test('any replica trips, at once, and everybody that is alive confirms', async () => {
    const [a, b, c] = [await replicas.open('a'), await replicas.open('b'), await replicas.open('c')]
    await move(await leaderOf([a]), { auth: layerAt('canary', 'R1') })
    await within2s(() => shareOf(c, 'R1') === 100, 'c knows')
    const outcome = c.trip({ ...tripOf('R1'), evidence: { bad: 3 } })
    expect(c.known.layers['auth']).toMatchObject({ stage: 'rolled-back', weights: {}, reason: 'bad' })
    expect(await outcome).toEqual({ confirmed: 3, of: 3, missing: [] })
    expect([a, b, c].map((state) => shareOf(state, 'R1'))).toEqual([0, 0, 0])
    expect(await b.trip(tripOf('R1'))).toMatchObject({ confirmed: 3 })
    const records = await a.history(10)
    expect(records.map(({ kind }) => kind)).toEqual(['transition', 'trip'])
    expect(records[1]).toMatchObject({ replica: 'c', evidence: { bad: 3 }, by: { actor: 'replica c' } })
  })

  test('a replica that cannot look is missing from the confirmations, by name', async () => {
    const [a, timers] = [await replicas.open('a'), createStoppableTimers()]
    await replicas.open('b', { timers, between: (line) => ({ ...line, listen: async () => {} }) })
    timers.stop()
    expect(await a.trip(tripOf('R1'))).toEqual({ confirmed: 1, of: 2, missing: ['b'] })
  })

  test('counters are those of every process, the last word of each, whichever way they came', async () => {
    const [a, b] = [await replicas.open('a'), await replicas.open('b')]
    a.publish('R1', 'S1', { n: 1 })
    a.publish('R1', 'S1', { n: 2 })
    b.publish('R1', 'S1', { n: 40, latency: [1, 2] })
    b.publish('R1', 'S2', { n: 1 })
    const sum = async () => (await a.collect('R1', 'S1')).reduce((all, { counters }) => all + Number(counters['n']), 0)
    await within2s(async () => (await sum()) === 42, 'all are told')
    // Told once more, and by a new run of the same replica.
    b.publish('R1', 'S1', { n: 40 })
    await b.collect('R1', 'S1')
    expect(await sum()).toBe(42)
    const again = await replicas.open('b')
    again.publish('R1', 'S1', { n: 5 })
    await again.collect('R1', 'S1')
    const counted = await a.collect('R1', 'S1')
    expect(counted.map(({ replica }) => replica).sort()).toEqual(['a', 'b', 'b'])
    expect(new Set(counted.map(({ boot }) => boot)).size).toBe(3)
    expect(await sum()).toBe(47)
    // And when the store forgets: they are cumulative, so telling them again makes it whole.
    await move(await leaderOf([a]), { auth: layerAt('shadow', 'R1') })
    await redis.cli('flushall')
    await within2s(async () => (await sum()) === 47, 'all are told again')
  })

  test('a leader that stood still past its lease is refused, whatever it believes (scenario 10)', async () => {
    const timers = createStoppableTimers()
    const a = await replicas.open('a', { timers })
    expect(await move(await leaderOf([a]), { auth: layerAt('canary', 'R1') })).toBe('done')
    const b = await replicas.open('b')
    const { fence } = await leaderOf([a])
    timers.stop()
    expect((await leaderOf([b])).fence).toBe(fence + 1)
    expect(a.lead()).toEqual({ fence })
    expect(await move(a, { auth: layerAt('canary', 'R1', { weight: 9_999 }) })).toBe('fenced')
    expect(await move(b, { auth: layerAt('canary', 'R1', { weight: 1_000 }) })).toBe('done')
  })

  test('a leader that cannot renew stops acting before its lease is over in the store', async () => {
    let away = false
    const between = (line: RedisLine): RedisLine => ({
      ...line,
      run: (...run) => (away ? Promise.reject(gatewayError('store_lost', 'away')) : line.run(...run)),
    })
    const a = await replicas.open('a', { between, leaseMs: 3_000 })
    await leaderOf([a])
    away = true
    await until(() => a.lead() === undefined, 'a stops')
    expect(Number(await redis.cli('pttl', key('lease')))).toBeGreaterThan(500)
  })

  test.each(['before', 'after'] as const)(
    'a change whose %s is lost is there whole or not at all, and never twice',
    async (when) => {
      let breaks = false
      const between = (line: RedisLine): RedisLine => ({
        ...line,
        async write(run, how) {
          if (breaks && when === 'before') throw gatewayError('store_lost', 'lost on the way')
          const written = await line.write(run, how)
          if (breaks) throw gatewayError('store_lost', 'lost on the way back')
          return written
        },
      })
      const a = await replicas.open('a', { between })
      const leader = await leaderOf([a])
      await move(leader, { auth: layerAt('canary', 'R1', { weight: 100 }) })
      breaks = true
      const step = { expectedRev: 1, layers: { auth: layerAt('canary', 'R1', { weight: 1_000 }) } }
      expect(await move(leader, {}, step)).toBe('unavailable')
      breaks = false
      const again = await move(leader, {}, step)
      expect(again).toBe(when === 'before' ? 'done' : 'stale')
      await within2s(() => shareOf(a, 'R1') === 1_000, 'a knows')
      expect(a.known.rev).toBe(2)
    },
  )

  test('a change that no replica of Redis has is said in the log', async () => {
    const log = recordingLog()
    const a = await replicas.open('a', { log })
    await move(await leaderOf([a]), { auth: layerAt('shadow', 'R1') })
    expect(log.lines.filter((line) => line.includes('no replica of the store has confirmed'))).toHaveLength(1)
  })
})
