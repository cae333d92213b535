import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RedisLine } from '../../../config/store/redis-line.ts'
import type { Memory } from '../../../plugins/store.ts'
import { collectScript, countedFromReply, publishScript } from './counting.ts'
import { emptyDocument, isOut, latched, mergedTrips, type StageDocument, type Trips } from './document.ts'
import { trippedBy } from './judge.ts'
import { createKnowledge } from './knowledge.ts'
import { reconcile } from './repair.ts'
import { documentFromText, leadScript, stateKeys, transitionScript, tripScript } from './scripts.ts'
import { layerAt, silent } from './test-documents.ts'

const seed = 20_240_601
const rollouts = ['R1', 'R2', 'R3']
const weights = fc.integer({ min: 0, max: 10_000 })

/** A store in memory that can be set back to what it was, as a failover sets back Redis. */
function createFallibleStore() {
  let values = new Map<string, string>()
  let dump = new Map<string, string>()
  const memory: Memory = {
    now: 1_700_000_000_000,
    get: (key) => values.get(key),
    set: (key, value) => void values.set(key, value),
    delete: (key) => void values.delete(key),
  }
  const run: RedisLine['run'] = async (script, keys, args) => script.local(memory, keys, args.map(String))
  return {
    run,
    line: { run } as RedisLine,
    save() {
      dump = new Map(values)
    },
    loseSinceSave() {
      values = new Map(dump)
    },
    loseAll() {
      values = new Map()
    },
    endLease: () => memory.delete(stateKeys.lease),
    stored: () => documentFromText(memory.get(stateKeys.state)),
  }
}

type Event =
  | { readonly kind: 'lead' | 'look'; readonly who: number }
  | {
      readonly kind: 'move'
      readonly who: number
      readonly rollout: number
      readonly weight: number
      readonly twice: boolean
    }
  | { readonly kind: 'trip'; readonly who: number; readonly rollout: number; readonly lost: boolean }
  | { readonly kind: 'save' | 'loseSinceSave' | 'loseAll' | 'endLease' }
const who = fc.nat(2)
const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('lead' as const, 'look' as const), who }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('move' as const),
      who,
      rollout: fc.nat(2),
      weight: weights,
      twice: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('trip' as const), who, rollout: fc.nat(2), lost: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom('save' as const, 'loseSinceSave' as const, 'loseAll' as const, 'endLease' as const),
    }),
  },
)

const isServed = ({ layers, tripped }: StageDocument): boolean =>
  Object.values(layers).some((layer) => isOut(layer) && Object.hasOwn(tripped, layer.rolloutId))

/** Replicas that lead, move, trip, look and lose touch, in any order. */
function createModel() {
  const store = createFallibleStore()
  const replicas = [0, 1, 2].map((id) => ({ id, knowledge: createKnowledge(), fence: -1, highest: 0 }))
  const accepted: { readonly rev: number; readonly fence: number; readonly life: number }[] = []
  let life = 0
  let given = { fence: 0, who: -1, life: 0 }
  const at = (index: number) => replicas[index] as (typeof replicas)[number]
  const look = async (index: number): Promise<void> => {
    const { knowledge } = at(index)
    await reconcile({ line: store.line, log: silent, knowledge, replica: String(index) }, store.stored())
  }
  const moved = async (change: Event & { kind: 'move' }): Promise<void> => {
    const replica = at(change.who)
    const { known } = replica.knowledge
    const auth = layerAt('canary', rollouts[change.rollout] as string, { gen: 1, weight: change.weight })
    const words = [known.rev, replica.fence, JSON.stringify({ auth }), '0', '', '{}', '{}']
    for (let time = 0; time < (change.twice ? 2 : 1); time++) {
      const keys = [stateKeys.state, stateKeys.log, stateKeys.fence]
      const [outcome, text] = await store.run(transitionScript, keys, words)
      if (outcome !== 'done') continue
      accepted.push({ rev: known.rev + 1, fence: replica.fence, life })
      // Only the one who was given the lease last.
      if (given.life === life) expect([change.who, replica.fence]).toEqual([given.who, given.fence])
      replica.knowledge.adopt(documentFromText(String(text)) as StageDocument)
    }
  }
  const steps: { [Kind in Event['kind']]: (event: Event & { kind: Kind }) => void | Promise<void> } = {
    look: ({ who: index }) => look(index),
    move: moved,
    async lead({ who: index }) {
      const replica = at(index)
      const words = [String(index), 10_000, replica.highest]
      const fence = Number((await store.run(leadScript, [stateKeys.lease, stateKeys.fence], words))[0])
      if (fence === 0) return
      replica.fence = fence
      for (const each of replicas) each.highest = Math.max(each.highest, fence)
      given = { fence, who: index, life }
    },
    async trip({ who: index, rollout, lost }) {
      const trips: Trips = {
        [rollouts[rollout] as string]: { layer: 'auth', gen: 1, reason: 'bad', actor: 'a', at: index },
      }
      at(index).knowledge.trip(trips)
      if (!lost) await store.run(tripScript, [stateKeys.state, stateKeys.log], [JSON.stringify(trips), '{}'])
    },
    save: store.save,
    endLease: store.endLease,
    loseSinceSave() {
      life++
      store.loseSinceSave()
    },
    loseAll() {
      life++
      store.loseAll()
    },
  }
  return {
    store,
    replicas,
    accepted,
    look,
    take: async (each: Event) => (steps[each.kind] as (event: Event) => void | Promise<void>)(each),
  }
}

describe('rollouts, whatever happens in whatever order', () => {
  test('a tripped one is served nowhere; a revision is written once, by who leads; and all agree once they have looked (I1, I6)', async () => {
    let trips = 0
    let losses = 0
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 60 }), async (events) => {
        const model = createModel()
        for (const each of events) {
          await model.take(each)
          for (const { knowledge } of model.replicas) expect(isServed(knowledge.known)).toBe(false)
          expect(isServed(model.store.stored() ?? emptyDocument)).toBe(false)
        }
        const writes = model.accepted.map(({ rev, life }) => `${life} ${rev}`)
        expect(new Set(writes).size).toBe(writes.length)
        // Everybody looks twice: that is what two seconds are.
        for (const index of [0, 1, 2, 0, 1, 2]) await model.look(index)
        const stored = model.store.stored() ?? emptyDocument
        for (const { knowledge } of model.replicas) {
          expect(Object.keys(stored.tripped)).toEqual(expect.arrayContaining(Object.keys(knowledge.known.tripped)))
          expect(knowledge.known.layers).toEqual(stored.layers)
          expect(knowledge.known.rev).toBe(stored.rev)
        }
        trips += Object.keys(stored.tripped).length
        losses += events.filter(({ kind }) => kind.startsWith('lose')).length
      }),
      { numRuns: 1_000, seed },
    )
    expect(Math.min(trips, losses)).toBeGreaterThan(100)
  })

  test('trips come to the same in whatever order, however often and in whatever company they arrive', () => {
    const trip = fc.record({
      layer: fc.constant('auth'),
      gen: fc.constant(1),
      reason: fc.constantFrom('a', 'b'),
      actor: fc.constantFrom('x', 'y'),
      at: fc.nat(3),
    })
    const batch = fc.dictionary(fc.constantFrom(...rollouts), trip, { maxKeys: 3 })
    const permuted = fc
      .array(batch, { minLength: 1, maxLength: 6 })
      .chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray([...all, ...all], { minLength: all.length * 2 })))
    const start: StageDocument = {
      ...emptyDocument,
      rev: 1,
      layers: { auth: layerAt('canary', 'R1'), cache: layerAt('native', 'R2') },
    }
    fc.assert(
      fc.property(permuted, ([some, others]) => {
        const merged = (all: readonly Trips[]) => all.reduce(mergedTrips, {})
        expect(merged(some)).toEqual(merged(others))
        const stages = (all: readonly Trips[]) => all.reduce(trippedBy, start).layers
        const named = (layers: StageDocument['layers']) =>
          Object.values(layers).map(({ stage, weights: all }) => [stage, all])
        expect(named(stages(some))).toEqual(named(stages(others)))
        expect(named(stages(some))).toEqual(named(latched({ ...start, tripped: merged(some) }).layers))
      }),
      { seed },
    )
  })

  test('counters come to the same sums, however their words are repeated and reordered', async () => {
    const word = fc.record({ process: fc.constantFrom('a:1', 'a:2', 'b:1'), n: fc.nat(50) })
    const permuted = fc
      .array(word, { minLength: 1, maxLength: 10 })
      .chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray([...all, ...all], { minLength: all.length * 2 })))
    const key = stateKeys.counters('R1', 'S1')
    const collected = async (words: readonly { process: string; n: number }[]) => {
      const { run } = createFallibleStore()
      // Cumulative: what a process said later is never less.
      for (const { process, n } of words) await run(publishScript, [key], [process, JSON.stringify({ n }), n, 1_000])
      const counted = countedFromReply(await run(collectScript, [key], []))
      return Object.fromEntries(counted.map(({ replica, boot, counters }) => [`${replica}:${boot}`, counters['n']]))
    }
    await fc.assert(
      fc.asyncProperty(permuted, async ([some, others]) => {
        expect(await collected(some)).toEqual(await collected(others))
      }),
      { seed },
    )
  })
})
