import { layers } from '../../plugins/index.ts'
import { type Collector, createCollector } from '../../proxy/folding/collect/collector.ts'
import { type Controller, createController, type Decided } from '../../proxy/folding/rollout/controller.ts'
import { createEjections, type Ejections } from '../../proxy/folding/rollout/ejections.ts'
import type { StageConstants } from '../../proxy/folding/rollout/stage-constants.ts'
import { createStages, type Stages } from '../../proxy/folding/stages.ts'
import { createRedisState } from '../../proxy/folding/state/redis.ts'
import { createReplica } from '../../proxy/folding/state/replica.ts'
import type { Timers } from '../../proxy/folding/state/timers.ts'
import type { WorldStore } from './world-store.ts'

/** What the replicas of a world have in common. */
export interface WorldPlan {
  /** Shares of the canary in percent, rising. */
  readonly steps: readonly number[]
  readonly autopilot: () => boolean
  /** Between looks and decisions, in milliseconds; a whole number of seconds. */
  readonly everyMs: number
  readonly pace?: (constants: StageConstants) => StageConstants
  /** Active rules that ignore a hard difference. */
  readonly ignores?: () => number
}

/** One gateway of a world: the product's own state, stages, collector and controller, on timers that are moved by hand. */
export interface WorldReplica {
  readonly id: string
  readonly stages: Stages
  readonly collector: Collector
  readonly controller: Controller
  readonly ejections: Ejections
  readonly alive: boolean
  /** Alive, and not standing still. */
  readonly runs: boolean
  /** Milliseconds since the epoch, by its own clock. */
  now(): number
  /** How far its clock is ahead of the world's, in milliseconds. */
  skewMs: number
  /** Stands still: nothing of it runs, while time goes on. */
  pause(): void
  resume(): void
  /** Gone at once (SIGKILL). */
  crash(): void
}

/** The layer that moves: the innermost, as nothing else has to be at the runner for it. */
export const movingLayer = 'postprocess'

/** The same gates, in a time and a number of calls that a world passes through within minutes. */
export function quick(constants: StageConstants): StageConstants {
  const { p99Ratio: _, failures: __, ...needs } = constants.needs
  const few = { calls: 30, units: 1, tenants: 1, dwellMs: 0, perStratum: 1, strata: [], triples: 0 }
  const wide = { differences: 1, overQ95: 1, overQ99: 1, fallbacks: 1 }
  return { ...constants, errors: { ...constants.errors, p0: 0.05, p1: 0.5 }, needs: { ...needs, ...few, ...wide } }
}

/** The layers as stages know them. */
export const movable = layers.map(({ name, reads, writes, answers, rewrites }) => ({
  ...{ name, reads, writes, answers, rewrites },
  stays: undefined,
}))
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }

interface Body {
  readonly timers: Timers
  readonly set: { skewMs: number; state: 'runs' | 'stands' | 'gone' }
  resume(): void
}

function bodyOver(base: Timers): Body {
  const set: Body['set'] = { skewMs: 0, state: 'runs' }
  const waiting = new Set<() => void>()
  return {
    set,
    timers: {
      now: () => base.now() + set.skewMs,
      elapsed: base.elapsed,
      after(ms, action) {
        const due = (): void => {
          if (set.state === 'runs') action()
          else if (set.state === 'stands') waiting.add(action)
        }
        const cancel = base.after(ms, due)
        return () => {
          cancel()
          waiting.delete(action)
        }
      },
    },
    resume() {
      set.state = 'runs'
      for (const action of [...waiting]) action()
      waiting.clear()
    },
  }
}

/** What one replica is made with. */
export interface ReplicaParts {
  readonly id: string
  readonly base: Timers
  readonly store: WorldStore
  readonly plan: WorldPlan
  decided(said: Decided): void
}

/** Starts a {@link WorldReplica}. The timers have to be moved before it resolves. */
export async function startReplica({ id, base, store, plan, decided }: ReplicaParts): Promise<WorldReplica> {
  const body = bodyOver(base)
  const { timers } = body
  const clock = { now: timers.now }
  const replica = createReplica(id, timers.now())
  const line = store.line(id)
  const reach = { pollMs: plan.everyMs, leaseMs: 10 * plan.everyMs }
  const state = await createRedisState({ line, replica, log: silent, timers, ...reach })
  const stages = createStages({ state, clock, artifactOf: () => 'artifact', changed: () => undefined })
  await stages.configure({ layers: movable, stages: {}, steps: plan.steps, tiers: [] })
  const collector = createCollector({ clock, replica: id, boot: replica.boot, later: timers.after })
  const ejections = createEjections(id)
  const controller = createController({
    ...{ stages, collector, ejections, replica: id, clock, log: silent, decided },
    // The controller looks every second; here a second is as long as a round.
    timers: { ...timers, after: (ms, action) => timers.after((ms * plan.everyMs) / 1_000, action) },
    layers: movable.map(({ name }) => name),
    autopilot: plan.autopilot,
    cacheTtlMs: () => undefined,
    ignores: () => plan.ignores?.() ?? 0,
    ...(plan.pace ? { pace: plan.pace } : {}),
  })
  return {
    ...{ id, stages, collector, controller, ejections, now: timers.now },
    get alive() {
      return body.set.state !== 'gone'
    },
    get runs() {
      return body.set.state === 'runs'
    },
    get skewMs() {
      return body.set.skewMs
    },
    set skewMs(ms) {
      body.set.skewMs = ms
    },
    pause() {
      body.set.state = 'stands'
    },
    resume: body.resume,
    crash() {
      body.set.state = 'gone'
    },
  }
}
