import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createEmbeddedStore } from '../../../config/store/embedded.ts'
import { createRedisLine, type RedisLine } from '../../../config/store/redis-line.ts'
import { storeSchema } from '../../../config/store.ts'
import type { Script } from '../../../plugins/store.ts'
import { createManualClock } from '../../../test/support/clock.ts'
import { type Redis, redisAvailable, startServer } from '../../../test/support/redis.ts'
import { collectScript, publishScript } from './counting.ts'
import { emptyDocument, type Layers, type StageDocument } from './document.ts'
import { historyScript, recordsFromReply } from './log.ts'
import {
  leadScript,
  leaveScript,
  lookScript,
  noteScript,
  restoreScript,
  stateKeys,
  transitionScript,
  tripScript,
} from './scripts.ts'
import { layerAt, silent } from './test-documents.ts'

const { state, log, fence, seen, lease } = stateKeys
const stages = fc.constantFrom('gateway', 'shadow', 'canary', 'native', 'rolled-back' as const)
const ids = fc.constantFrom('R1', 'R2', 'R3')
const layer = fc
  .record({ stage: stages, id: ids, gen: fc.integer({ min: 1, max: 3 }), weight: fc.integer({ min: 0, max: 10_000 }) })
  .map(({ stage, id, gen, weight }) => layerAt(stage, id, { gen, weight, startedAt: 1_700_000_000_123 }))
const layers: fc.Arbitrary<Layers> = fc.dictionary(fc.constantFrom('auth', 'cache', 'prompt "ü"'), layer, {
  maxKeys: 3,
})
const trips = fc.dictionary(
  ids,
  fc.record({
    layer: fc.constant('auth'),
    gen: fc.constant(1),
    reason: fc.string(),
    actor: fc.string(),
    at: fc.integer({ min: 1_700_000_000_000, max: 1_800_000_000_000 }),
  }),
  { maxKeys: 2 },
)

type Step = readonly [Script, readonly string[], readonly string[]]
const record = JSON.stringify({ by: { actor: 'a', reason: 'r' }, replica: 'x' })
const step: fc.Arbitrary<Step> = fc.oneof(
  fc
    .tuple(fc.oneof(fc.constant('@rev'), fc.nat(5)), fc.oneof(fc.constant('@fence'), fc.nat(2)), layers, fc.boolean())
    .map(
      ([rev, given, next, holds]): Step => [
        transitionScript,
        [state, log, fence],
        [String(rev), String(given), JSON.stringify(next), holds ? '1' : '0', 'wait', '{}', record],
      ],
    ),
  fc
    .tuple(fc.dictionary(fc.constantFrom('freeze', 'f "ü"'), fc.constantFrom('', '{"a":[]}', 'b')), fc.boolean())
    .map(([notes, keeps]): Step => [noteScript, [state, log], [JSON.stringify(notes), keeps ? '1' : '0', record]]),
  trips.map((some): Step => [tripScript, [state, log], [JSON.stringify(some), record]]),
  fc
    .record<StageDocument>({ rev: fc.nat(6), hold: fc.constantFrom('', 'wait'), layers, tripped: trips })
    .map((known): Step => [restoreScript, [state, log], [JSON.stringify(known), '{}', record]]),
  fc
    .tuple(fc.constantFrom('a:1', 'b:2'), fc.nat(3))
    .map(([who, highest]): Step => [leadScript, [lease, fence], [who, '60000', String(highest)]]),
  fc.constantFrom('a:1', 'b:2').map((who): Step => [leaveScript, [lease, seen], [who]]),
  fc
    .tuple(fc.constantFrom('a:1', 'b:2'), fc.nat(9))
    .map(([who, n]): Step => [publishScript, [stateKeys.counters('R1', 's')], [who, `{"n":${n}}`, String(n), '60000']]),
  fc.constant<Step>([collectScript, [stateKeys.counters('R1', 's')], []]),
)

/** JSON texts as what they say: Lua orders members as it likes. */
const meant = (reply: readonly (number | string)[]) =>
  reply.map((word) => (typeof word === 'string' && word.startsWith('{') ? JSON.parse(word) : word))

const steps = fc.array(step, { minLength: 1, maxLength: 25 })

describe.skipIf(!redisAvailable)('the scripts', () => {
  let redis: Redis
  let line: RedisLine
  beforeAll(async () => {
    redis = await startServer()
    line = await createRedisLine(storeSchema.parse({ kind: 'redis', url: redis.url }), silent)
  })
  afterAll(async () => {
    line.close()
    await redis[Symbol.asyncDispose]()
  })

  test('say the same in Redis and in memory, whatever they are asked and in whatever order', async () => {
    const outcomes = new Set<unknown>()
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        await redis.cli('flushall')
        const memory = createEmbeddedStore(createManualClock())
        for (const [script, keys, words] of all) {
          const [now = '', given = 0] = await memory.run(lookScript, [state, seen, fence], ['a:1', '{}'])
          const rev = now === '' ? 0 : (JSON.parse(String(now)) as StageDocument).rev
          const args = words.map((word) => (word === '@rev' ? rev : word === '@fence' ? given : word))
          const there = await line.run(script, keys, args)
          expect(meant(there)).toEqual(meant(await memory.run(script, keys, args)))
          outcomes.add(`${script.name} ${typeof there[0] === 'string' ? there[0] : ''}`)
        }
        const look = async (on: Pick<RedisLine, 'run'>) => {
          const [text, given] = await on.run(lookScript, [state, seen, fence], ['a:1', '{}'])
          const changes = recordsFromReply(await on.run(historyScript, [log], [10]))
          return [...meant([text ?? '']), given, changes.map(({ at, layers, ...rest }) => rest)]
        }
        expect(await look(line)).toEqual(await look(memory))
      }),
      { numRuns: 150, seed: 20_240_601 },
    )
    // Every refusal was met, so that none of them agrees for want of being asked.
    for (const outcome of ['done', 'stale', 'fenced', 'tripped', 'second-layer'])
      expect(outcomes).toContain(`stages-transition ${outcome}`)
    for (const outcome of ['done', 'known'])
      for (const name of ['restore', 'note']) expect(outcomes).toContain(`stages-${name} ${outcome}`)
  })

  test('keep what a trip changed in the record, before and after', async () => {
    await redis.cli('flushall')
    const [given = 0] = await line.run(leadScript, [lease, fence], ['a:1', 1000, 0])
    const words = (next: Layers) => ['0', given, JSON.stringify(next), '0', '', '{}', record]
    await line.run(transitionScript, [state, log, fence], words({ auth: layerAt('canary', 'R1') }))
    const trip = { layer: 'auth', gen: 1, reason: 'bad', actor: 'a', at: 1_700_000_000_000 }
    await line.run(tripScript, [state, log], [JSON.stringify({ R1: trip }), record])
    const [first, second] = recordsFromReply(await line.run(historyScript, [log], [10]))
    expect(first).toMatchObject({ kind: 'transition', rev: 1, by: { actor: 'a' } })
    expect(second).toMatchObject({ kind: 'trip', rev: 2, layers: { auth: { from: { stage: 'canary' } } } })
    expect(second?.layers['auth']?.to).toMatchObject({ stage: 'rolled-back', weights: {}, reason: 'bad' })
  })

  test('give a stage the instant of the store where none is named', async () => {
    await redis.cli('flushall')
    const [given = 0] = await line.run(leadScript, [lease, fence], ['a:1', 1000, 0])
    const next = JSON.stringify({ auth: layerAt('shadow', 'R1') })
    const reply = await line.run(transitionScript, [state, log, fence], ['0', given, next, '0', '', '{}', record])
    const { layers } = JSON.parse(String(reply[1])) as StageDocument
    const seconds = Number((await redis.cli('time')).split('\n')[0])
    expect(Math.abs((layers['auth']?.startedAt ?? 0) / 1000 - seconds)).toBeLessThan(10)
  })

  test('hold a state that was brought back into an empty store', async () => {
    await redis.cli('flushall')
    const known = { ...emptyDocument, rev: 4, layers: { auth: layerAt('canary', 'R1') } }
    const reply = await line.run(restoreScript, [state, log], [JSON.stringify(known), '{}', record])
    expect(JSON.parse(String(reply[1]))).toMatchObject({ rev: 5, hold: expect.stringContaining('came back empty') })
  })
})
