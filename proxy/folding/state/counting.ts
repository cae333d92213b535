import type { JsonObject } from '../../../plugins/jws-json.ts'
import type { Script } from '../../../plugins/store.ts'
import type { Replica } from './replica.ts'
import type { Counted } from './state.ts'

/** How long counters outlive the last word of them, in milliseconds. */
export const countersTtlMs = 7 * 24 * 3_600_000

/** Keeps the counters of one process. KEYS: counters. ARGV: the process, its counters (JSON), for how long in milliseconds. Returns nothing. */
export const publishScript: Script = {
  name: 'stages-publish',
  lua: `redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {}`,
  local(memory, [key = ''], [process = '', counters = '', ttlMs]) {
    const kept = JSON.parse(memory.get(key) ?? '{}') as Record<string, string>
    memory.set(key, JSON.stringify({ ...kept, [process]: counters }), Number(ttlMs))
    return []
  },
}

/** The counters of every process. KEYS: counters. Returns process and counters, in turn. */
export const collectScript: Script = {
  name: 'stages-collect',
  lua: `return redis.call('HGETALL', KEYS[1])`,
  local: (memory, [key = '']) => Object.entries(JSON.parse(memory.get(key) ?? '{}') as Record<string, string>).flat(),
}

/** A process as the field of a hash. */
export function fieldOf({ id, boot }: Replica): string {
  return `${id}:${boot}`
}

/** The process that a field names: a boot id has no colon, the name of a replica may. */
export function replicaFromField(field: string): Replica {
  const at = field.lastIndexOf(':')
  return { id: field.slice(0, at), boot: field.slice(at + 1) }
}

/** What {@link collectScript} returned. */
export function countedFromReply(reply: readonly (number | string)[]): Counted[] {
  const counted: Counted[] = []
  for (let index = 0; index + 1 < reply.length; index += 2) {
    const { id, boot } = replicaFromField(String(reply[index]))
    counted.push({ replica: id, boot, counters: JSON.parse(String(reply[index + 1])) as JsonObject })
  }
  return counted
}

/** This process's own counters, by rollout and stage. */
export interface OwnCounters {
  set(rolloutId: string, stage: string, counters: JsonObject): void
  get(rolloutId: string, stage: string): JsonObject | undefined
  /** Those that changed since they were last taken, oldest change first. */
  take(): readonly OwnCount[]
  /** Gives back what could not be told, unless there is newer by now. */
  giveBack(counts: readonly OwnCount[]): void
  /** Has all of them told again: what was told may have been lost. */
  retell(): void
}

/** This process's counters for one rollout and stage. */
export interface OwnCount {
  readonly rolloutId: string
  readonly stage: string
  readonly counters: JsonObject
}

// Stages of rollouts: a handful lives at a time.
const mostCounts = 256

/** Makes {@link OwnCounters}; of more than 256 rollouts and stages the one that changed longest ago is forgotten. */
export function createOwnCounters(): OwnCounters {
  const all = new Map<string, OwnCount>()
  const fresh = new Map<string, OwnCount>()
  return {
    set(rolloutId, stage, counters) {
      const key = `${rolloutId}\n${stage}`
      for (const map of [all, fresh]) {
        map.delete(key)
        map.set(key, { rolloutId, stage, counters })
        const [oldest] = map.keys()
        if (map.size > mostCounts && oldest !== undefined) map.delete(oldest)
      }
    },
    get: (rolloutId, stage) => all.get(`${rolloutId}\n${stage}`)?.counters,
    take() {
      const counts = [...fresh.values()]
      fresh.clear()
      return counts
    },
    giveBack(counts) {
      for (const count of counts) {
        const key = `${count.rolloutId}\n${count.stage}`
        if (!fresh.has(key)) fresh.set(key, count)
      }
    },
    retell() {
      for (const [key, count] of all) fresh.set(key, count)
    },
  }
}
