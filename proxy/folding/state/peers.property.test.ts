import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createKeyRing } from '../../../plugins/jws-key.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { isOut } from './document.ts'
import { createPeerState, type PeerState } from './peers.ts'
import { createReplica } from './replica.ts'
import { layerAt, move, silent } from './test-documents.ts'
import { peerKey } from './test-peers.ts'
import { createManualTimers } from './test-timers.ts'

const ids = ['a', 'b', 'c']
type Event =
  | { readonly kind: 'tick' | 'heal' }
  | { readonly kind: 'cut' | 'mute' | 'restart' | 'trip' | 'move'; readonly who: number }
  | { readonly kind: 'drop'; readonly every: number }
const who = fc.nat(2)
const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('tick' as const) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('heal' as const) }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('move' as const), who }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('cut' as const, 'mute' as const, 'restart' as const, 'trip' as const),
      who,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('drop' as const), every: fc.integer({ min: 2, max: 5 }) }) },
)

/** Three replicas in memory, over ways that lose messages and answers, on timers that the test moves. */
function createWorld(dir: string) {
  const timers = createManualTimers()
  const states: (PeerState | undefined)[] = [undefined, undefined, undefined]
  const cut = new Set<string>()
  /** What was decided for each revision, as each replica came to know it: the salt names the change. */
  const decided = new Map<number, Set<string>>()
  let [sent, every] = [0, 0]
  const lost = (): boolean => every > 0 && ++sent % every === 0
  const send = (from: number) => async (address: string, body: string) => {
    const to = Number(address.slice(-1))
    const ways = [`${from} ${to}`, `${to} ${from}`]
    if (cut.has(ways[0] as string) || lost()) throw new TypeError('lost on the way')
    const answer = await states[to]?.receive(body)
    if (!answer || cut.has(ways[1] as string) || lost()) throw new TypeError('lost on the way back')
    return answer
  }
  const open = async (index: number): Promise<void> => {
    const opening = createPeerState({
      replica: createReplica(ids[index] as string, timers.now()),
      peers: ids.map((_, at) => `127.0.0.1:1${at}`),
      port: 1,
      keys: { key: peerKey, ring: createKeyRing([peerKey]) },
      send: send(index),
      log: silent,
      timers,
      path: `${dir}/${index}.json`,
    })
    await timers.advance(1_000)
    const state = await opening
    const note = ({ rev, layers }: PeerState['known']) => {
      const salts = decided.get(rev) ?? new Set()
      decided.set(rev, salts.add(layers['auth']?.salt ?? ''))
      for (const layer of Object.values(layers))
        expect(isOut(layer) && layer.rolloutId in state.known.tripped).toBe(false)
    }
    note(state.known)
    state.onChange(note)
    states[index] = state
  }
  const all = () => states.filter((state) => state !== undefined)
  const cutOff = (index: number, both: boolean) => {
    for (const other of [0, 1, 2].filter((each) => each !== index)) {
      cut.add(`${index} ${other}`)
      if (both) cut.add(`${other} ${index}`)
    }
  }
  return {
    timers,
    decided,
    all,
    open,
    at: (index: number) => states[index] as PeerState,
    cutOff,
    heal() {
      cut.clear()
      every = 0
    },
    dropEvery(count: number) {
      every = count
    },
    async restart(index: number) {
      const before = states[index]
      states[index] = undefined
      void before?.close()
      await open(index)
    },
  }
}

describe('replicas among themselves, whatever happens in whatever order', () => {
  test('decide one state for each revision, serve nothing that any of them took back once they talk, and agree (I1)', {
    timeout: 120_000,
  }, async () => {
    let [moves, trips, refused] = [0, 0, 0]
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 20, maxLength: 50 }), async (events) => {
        await using dir = createTempDir()
        const world = createWorld(dir.path)
        for (const index of [0, 1, 2]) await world.open(index)
        await world.timers.advance(3_000)
        let gen = 1
        const tripped = new Set<string>()
        for (const [index, each] of events.entries()) {
          if (each.kind === 'tick') await world.timers.advance(1_500)
          else if (each.kind === 'heal') world.heal()
          else if (each.kind === 'drop') world.dropEvery(each.every)
          else if (each.kind === 'restart') await world.restart(each.who)
          else if (each.kind === 'cut' || each.kind === 'mute') world.cutOff(each.who, each.kind === 'cut')
          else if (each.kind === 'trip') {
            const { rolloutId = `R${gen}` } = world.at(each.who).known.layers['auth'] ?? {}
            tripped.add(rolloutId)
            void world.at(each.who).trip({ rolloutId, gen: 1, layer: 'auth', reason: 'bad' })
            trips++
          } else if (each.kind === 'move') {
            const auth = layerAt('canary', `R${gen}`, { gen: gen++, weight: index, salt: `move ${index}` })
            const moving = move(world.all().find((state) => state.lead()) ?? world.at(each.who), { auth })
            await world.timers.advance(1_000)
            if ((await moving) === 'done') moves++
            else refused++
          }
        }
        world.heal()
        await world.timers.advance(15_000)
        for (const [rev, salts] of world.decided) expect([rev, [...salts]]).toEqual([rev, [[...salts][0]]])
        const [first, ...others] = world.all().map(({ known }) => known)
        for (const other of others) expect(other).toEqual(first)
        expect(Object.keys(first?.tripped ?? {})).toEqual(expect.arrayContaining([...tripped]))
        expect(world.all().filter((state) => state.lead())).toHaveLength(1)
        await Promise.all(world.all().map((state) => state.close()))
      }),
      { numRuns: 20, seed: 20_240_601 },
    )
    expect(Math.min(moves, trips, refused)).toBeGreaterThan(10)
  })
})
