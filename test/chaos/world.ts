import { sayStage } from '../../plugins/stage.ts'
import type { Decided } from '../../proxy/folding/rollout/controller.ts'
import type { StageVerb } from '../../proxy/folding/stages.ts'
import { createManualTimers, type ManualTimers } from '../../proxy/folding/state/test-timers.ts'
import { createRandom, type Random } from '../support/random.ts'
import { movingLayer, startReplica, type WorldPlan, type WorldReplica } from './world-replica.ts'
import { createWorldStore, type WorldStore } from './world-store.ts'
import { calm, nextUnit, play, type Traffic } from './world-traffic.ts'
import { createWatch, type Watch } from './world-watch.ts'

/** What a world begins with. */
export interface WorldOptions extends Partial<Omit<WorldPlan, 'autopilot'>> {
  /** Names of the replicas; default `a`, `b` and `c`. */
  readonly replicas?: readonly string[]
  readonly seed?: number
  readonly traffic?: Traffic
  /** Time passes in pieces of so many milliseconds; default: as often as replicas look. */
  readonly pieceMs?: number
}

/** A decision that a replica told, and when, in milliseconds since the world began. */
export interface Heard extends Decided {
  readonly at: number
  readonly replica: string
}

/** Gateways over one store, on one virtual clock, under traffic from one seed: every run is the same. */
export interface World {
  readonly store: WorldStore
  readonly timers: ManualTimers
  readonly random: Random
  readonly watch: Watch
  readonly said: Heard[]
  /** Milliseconds since it began. */
  readonly at: number
  /** Layers go on by themselves; default true. */
  autopilot: boolean
  /** What comes from now on. */
  traffic: Traffic
  /** Every replica that is not gone, in the order of their starts. */
  replicas(): readonly WorldReplica[]
  replica(id: string): WorldReplica
  leader(): WorldReplica | undefined
  start(id: string): Promise<WorldReplica>
  /** Lets time pass, with traffic. */
  run(ms: number): Promise<void>
  /** Lets time pass until something holds; whether it did before `mostMs` were over. */
  until(holds: () => boolean, mostMs: number): Promise<boolean>
  /** Asks whoever leads, as often as it takes for somebody to lead. */
  ask(verb: StageVerb): Promise<void>
  /** The stage in words, as a replica has it; default: as the first has it. */
  stage(id?: string): string
}

/** Makes a {@link World}, with everything at home and nobody leading yet. */
export async function createWorld(options: WorldOptions = {}): Promise<World> {
  const { replicas: names = ['a', 'b', 'c'], seed = 1 } = options
  const plan: WorldPlan = { steps: [10, 50, 100], everyMs: 1_000, ...options, autopilot: () => world.autopilot }
  const { pieceMs = plan.everyMs } = options
  const timers = createManualTimers()
  const began = timers.elapsed()
  const at = (): number => timers.elapsed() - began
  const random = createRandom(seed)
  const store = createWorldStore(timers)
  const said: Heard[] = []
  const all = new Map<string, WorldReplica>()
  const living = (): WorldReplica[] => [...all.values()].filter(({ alive }) => alive)
  const watch = createWatch(store, living)
  let due = 0
  const pass = async (ms: number): Promise<void> => {
    due += (world.traffic.rate * ms) / 1_000
    for (; due >= 1; due--) {
      const serving = living().filter(({ runs }) => runs)
      const replica = serving[Math.floor(random() * serving.length)]
      const { runners } = world.traffic
      const call = {
        at: at(),
        unit: nextUnit(random, world.traffic),
        runner: runners[Math.floor(random() * runners.length)] as string,
        random,
      }
      if (replica) watch.played(play(replica, world.traffic, call))
    }
    await timers.advance(ms)
    watch.look(ms)
  }
  const world: World = {
    ...{ store, timers, random, watch, said, autopilot: true, traffic: options.traffic ?? calm },
    get at() {
      return at()
    },
    replicas: living,
    replica: (id) => all.get(id) as WorldReplica,
    leader: () => living().find(({ stages }) => stages.state.lead()),
    async start(id) {
      const replica = await startReplica({
        id,
        base: timers,
        store,
        plan,
        decided: (each) => said.push({ ...each, at: at(), replica: id }),
      })
      all.set(id, replica)
      return replica
    },
    async run(ms) {
      for (let left = ms; left > 0; left -= pieceMs) await pass(Math.min(left, pieceMs))
    },
    async until(holds, mostMs) {
      const end = at() + mostMs
      while (!holds() && at() < end) await pass(pieceMs)
      return holds()
    },
    async ask(verb) {
      await world.until(() => world.leader() !== undefined, 60 * plan.everyMs)
      const asked = { over: false }
      const asking = world
        .leader()
        ?.stages.ask(verb, movingLayer, { actor: 'ann', reason: 'a test' })
        .finally(() => (asked.over = true))
      // Who takes back waits for the others, who need time to hear of it.
      do await pass(plan.everyMs)
      while (!asked.over)
      await asking
    },
    stage: (id) =>
      sayStage(
        (id === undefined ? living()[0] : all.get(id))?.stages.of(movingLayer) ?? { stage: 'gateway', weight: 0 },
      ),
  }
  for (const id of names) await world.start(id)
  return world
}

/** A {@link World} whose layer is in the first share of its canary, after a shadow of a minute of calm. */
export async function createCanary(options: WorldOptions = {}): Promise<World> {
  // Where a round is long, so is the shadow.
  const rate = (options.everyMs ?? 0) > 60_000 ? 1 : calm.rate
  const world = await createWorld({ ...options, traffic: { ...calm, rate } })
  world.autopilot = false
  await world.ask('shadow')
  await world.run(60_000)
  world.traffic = options.traffic ?? calm
  await world.ask('canary')
  world.autopilot = true
  world.said.length = 0
  return world
}
