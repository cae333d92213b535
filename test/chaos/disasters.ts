import fc from 'fast-check'
import { createCanary, type World } from './world.ts'
import { movingLayer, quick, type WorldReplica } from './world-replica.ts'
import { calm, inCanary } from './world-traffic.ts'

/** Something that happens to a world; `who` is a replica by its place among those that live. */
export type Disaster =
  | { readonly kind: 'pass'; readonly seconds: number }
  | { readonly kind: 'fail' | 'heal' | 'down' | 'up' | 'save' }
  | { readonly kind: 'trip' | 'crash' | 'pause' | 'resume' | 'begin'; readonly who: number }
  | { readonly kind: 'skew'; readonly who: number; readonly ms: number }
  | { readonly kind: 'lose'; readonly all: boolean }
  | { readonly kind: 'late'; readonly ms: number }

const who = fc.nat(9)

/** Any of them: time passes often, and what is broken is mended often enough for something to go on. */
export const disasters: fc.Arbitrary<Disaster> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('pass' as const), seconds: fc.integer({ min: 1, max: 30 }) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('heal' as const, 'up' as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('fail' as const, 'down' as const, 'save' as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('begin' as const), who }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom('trip' as const, 'crash' as const, 'pause' as const, 'resume' as const),
      who,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('skew' as const), who, ms: fc.integer({ min: -3e5, max: 3e5 }) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('lose' as const), all: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('late' as const), ms: fc.integer({ min: 1, max: 40_000 }) }) },
)

const by = { actor: 'ann', reason: 'a test' }

/** Lives through disasters, in a canary that goes on by itself; the world's watch throws where an invariant does not hold. */
export async function live(events: readonly Disaster[], seed: number): Promise<World> {
  const world = await createCanary({ seed, pace: quick, everyMs: 2_000, traffic: { ...calm, rate: 10 } })
  world.store.save()
  let born = 0
  for (const event of events) {
    await happen(world, event)
    // Somebody is started where nobody is left.
    if (world.replicas().length === 0) await world.start(`n${born++}`)
    await world.run(2_000)
  }
  world.store.down = false
  world.store.fate = () => 'done'
  for (const replica of world.replicas()) replica.resume()
  await world.run(60_000)
  return world
}

async function happen(world: World, event: Disaster): Promise<void> {
  const { store } = world
  const replica = 'who' in event ? (world.replicas()[event.who % world.replicas().length] as WorldReplica) : undefined
  if (event.kind === 'pass') await world.run(event.seconds * 1_000)
  else if (event.kind === 'fail') world.traffic = { ...world.traffic, ends: inCanary(() => ({ code: 500 })) }
  else if (event.kind === 'heal') world.traffic = { ...world.traffic, ends: () => ({}) }
  else if (event.kind === 'down' || event.kind === 'up') store.down = event.kind === 'down'
  else if (event.kind === 'save') store.save()
  else if (event.kind === 'late')
    store.fate = ({ script }) => (script === 'stages-transition' ? { late: event.ms } : 'done')
  else if (event.kind === 'lose') {
    if (event.all) store.loseAll()
    else store.loseSinceSave()
    world.watch.lost()
  } else if (event.kind === 'skew' && replica) replica.skewMs = event.ms
  else if (event.kind === 'begin')
    void world
      .leader()
      ?.stages.ask('shadow', movingLayer, by)
      .catch(() => undefined)
  else if (event.kind === 'trip') void replica?.stages.ask('rollback', movingLayer, by)
  else if (event.kind === 'crash') replica?.crash()
  else if (event.kind === 'pause') replica?.pause()
  else if (event.kind === 'resume') for (const each of world.replicas()) each.resume()
}
