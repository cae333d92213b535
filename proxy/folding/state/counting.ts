import type { JsonObject } from '../../../plugins/jws-json.ts'
import type { Script } from '../../../plugins/store.ts'
import type { Replica } from './replica.ts'
import type { Counted } from './state.ts'

/** How long counters outlive the last word of them, in milliseconds. */
export const countersTtlMs = 7 * 24 * 3_600_000

/**
 * Keeps the counters of one process, unless there are later ones of it. KEYS: counters. ARGV: the process, its counters (JSON), how many
 * words of it came before, for how long in milliseconds. Returns nothing.
 */
export const publishScript: Script = {
  name: 'stages-publish',
  lua: `local kept = redis.call('HGET', KEYS[1], ARGV[1])
if kept and tonumber(string.match(kept, '^%d+')) > tonumber(ARGV[3]) then return {} end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3] .. ' ' .. ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return {}`,
  local(memory, [key = ''], [process = '', counters = '', seq = '0', ttlMs]) {
    const kept = JSON.parse(memory.get(key) ?? '{}') as Record<string, string>
    if (Number(kept[process]?.split(' ', 1)[0] ?? 0) > Number(seq)) return []
    memory.set(key, JSON.stringify({ ...kept, [process]: `${seq} ${counters}` }), Number(ttlMs))
    return []
  },
}

/** The counters of every process. KEYS: counters. Returns in turn a process, and its last word and counters, a space between them. */
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
    const text = String(reply[index + 1])
    counted.push({ replica: id, boot, counters: JSON.parse(text.slice(text.indexOf(' ') + 1)) as JsonObject })
  }
  return counted
}

/** This process's own counters, by rollout and stage. */
export interface OwnCounters {
  set(rolloutId: string, stage: string, counters: JsonObject): OwnCount
  get(rolloutId: string, stage: string): JsonObject | undefined
  all(): readonly OwnCount[]
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
  /** How many words of this process came before this one: the latest counts, in whatever order they arrive. */
  readonly seq: number
}

// Stages of rollouts: a handful lives at a time.
const mostCounts = 256

/** Makes {@link OwnCounters}; of more than 256 rollouts and stages the one that changed longest ago is forgotten. */
export function createOwnCounters(): OwnCounters {
  const all = new Map<string, OwnCount>()
  const fresh = new Map<string, OwnCount>()
  let seq = 1
  return {
    set(rolloutId, stage, counters) {
      const key = `${rolloutId}\n${stage}`
      const count = { rolloutId, stage, counters, seq: seq++ }
      for (const map of [all, fresh]) {
        map.delete(key)
        map.set(key, count)
        const [oldest] = map.keys()
        if (map.size > mostCounts && oldest !== undefined) map.delete(oldest)
      }
      return count
    },
    get: (rolloutId, stage) => all.get(`${rolloutId}\n${stage}`)?.counters,
    all: () => [...all.values()],
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
