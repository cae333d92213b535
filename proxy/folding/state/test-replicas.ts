import { createRedisLine, type RedisLine } from '../../../config/store/redis-line.ts'
import { storeSchema } from '../../../config/store.ts'
import type { Log } from '../../../plugins/host.ts'
import { until } from '../../../test/support/gate.ts'
import { createRedisState } from './redis.ts'
import type { RedisStateParts } from './redis-look.ts'
import { createReplica } from './replica.ts'
import type { Leading, RolloutState } from './state.ts'
import { silent } from './test-documents.ts'
import { processTimers, type Timers } from './timers.ts'

/** How a replica in a test differs from the usual one. */
export interface ReplicaOptions extends Partial<Omit<RedisStateParts, 'line' | 'replica'>> {
  readonly log?: Log
  /** Puts something between the state and Redis. */
  readonly between?: (line: RedisLine) => RedisLine
}

/** Opens replicas over one Redis, each with a line of its own, and closes them all. */
export function createReplicas(store: object) {
  const open: RolloutState[] = []
  return {
    async open(id: string, { between = (line) => line, ...options }: ReplicaOptions = {}): Promise<RolloutState> {
      const log = options.log ?? silent
      const line = await createRedisLine(storeSchema.parse({ kind: 'redis', connectTimeoutMs: 500, ...store }), log)
      const parts = { pollMs: 50, leaseMs: 1_000, log, ...options }
      const state = await createRedisState({ line: between(line), replica: createReplica(id, Date.now()), ...parts })
      open.push(state)
      return state
    },
    async [Symbol.asyncDispose]() {
      for (const state of open.splice(0)) await state.close()
    },
  }
}

/** The first of some replicas that leads, once one does. */
export async function leaderOf(
  states: readonly RolloutState[],
  waitMs = 6_000,
): Promise<RolloutState & { fence: number }> {
  const leading = () => states.find((state) => state.lead())
  await until(() => leading() !== undefined, 'somebody leads', waitMs)
  const leader = leading() as RolloutState
  return Object.assign(Object.create(leader) as RolloutState, { fence: (leader.lead() as Leading).fence })
}

/** The timers of a process that can be made to stand still, as if it were stopped: its clock too. */
export function createStoppableTimers(): Timers & { stop(): void } {
  let stoppedAt: number | undefined
  return {
    now: processTimers.now,
    elapsed: () => stoppedAt ?? processTimers.elapsed(),
    after: (ms, action) => processTimers.after(ms, () => (stoppedAt === undefined ? action() : undefined)),
    stop() {
      stoppedAt = processTimers.elapsed()
    },
  }
}
