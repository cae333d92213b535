import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../../plugins/host.ts'
import type { Memory, Store } from '../../plugins/store.ts'
import { createShelf, type ShelfLimits } from './shelf.ts'
import { checkOneSlot } from './slot.ts'
import { createStreams, type StreamEntry } from './streams.ts'

/** The store over this process's memory. Nothing outlives the process, and nothing is shared with another one. */
export interface EmbeddedStore extends Store {
  readonly kind: 'embedded'
  /** What `append` has kept of a stream, oldest first. */
  entries(stream: string): readonly StreamEntry[]
}

/** How much an embedded store may hold. */
export interface EmbeddedLimits {
  /** Values (cached answers and the like); the least recently used goes first. Default 256 MiB, 1,000,000 entries. */
  readonly values?: Partial<ShelfLimits>
  /** What scripts keep (limits, leases). Apart from values, so that answers never push a limit out. Default 64 MiB, 500,000 entries. */
  readonly counters?: Partial<ShelfLimits>
}

const defaultValues: ShelfLimits = { maxBytes: 256 * 1024 * 1024, maxEntries: 1_000_000 }
const defaultCounters: ShelfLimits = { maxBytes: 64 * 1024 * 1024, maxEntries: 500_000 }
// After so many keys a purge lets other work in.
const keysPerTurn = 5_000

/** Makes an {@link EmbeddedStore}. Expiry follows `clock`; there are no timers. */
export function createEmbeddedStore(clock: Clock, limits: EmbeddedLimits = {}): EmbeddedStore {
  const values = createShelf<Buffer>({ ...defaultValues, ...limits.values }, (value) => value.length)
  const counters = createShelf<string>({ ...defaultCounters, ...limits.counters }, (value) => value.length * 2)
  const streams = createStreams(clock)
  const remove = (key: string): boolean => {
    const counted = counters.delete(key)
    return values.delete(key) || counted
  }
  const read = (key: string): Buffer | undefined => {
    const counter = counters.get(key, clock.now())
    return counter === undefined ? values.get(key, clock.now()) : Buffer.from(counter)
  }
  const keep = (key: string, value: Buffer, ttlMs: number): void => {
    remove(key)
    // A copy: a slice would keep the whole network read it came from alive.
    if (ttlMs > 0) values.set(key, { value: Buffer.from(value), expiresAt: clock.now() + ttlMs }, clock.now())
  }
  const memory: Memory = {
    get now() {
      return clock.now()
    },
    get: (key) => counters.get(key, clock.now()) ?? values.get(key, clock.now())?.toString('utf8'),
    set(key, value, ttlMs) {
      values.delete(key)
      counters.set(key, { value, expiresAt: clock.now() + (ttlMs ?? Number.POSITIVE_INFINITY) }, clock.now())
    },
    delete: remove,
  }
  return {
    kind: 'embedded',
    onLoss: 'local',
    async run(script, keys, args) {
      checkOneSlot(keys)
      return script.local(memory, keys, args.map(String))
    },
    get: async (key) => read(key),
    set: async (key, value, ttlMs) => keep(key, value, ttlMs),
    async add(key, value, ttlMs) {
      if (read(key) !== undefined) return false
      keep(key, value, ttlMs)
      return true
    },
    async delete(...keys) {
      for (const key of keys) remove(key)
    },
    async deletePrefix(prefix) {
      const found = await matching(values.keys(), prefix)
      found.push(...(await matching(counters.keys(), prefix)))
      return found.filter(remove).length
    },
    // Profiles in a hash are written by others, and nobody else reaches this memory.
    hash: async () => undefined,
    append: async (stream, fields, maxEntries) => streams.append(stream, fields, maxEntries),
    entries: (stream) => streams.entries(stream),
    up: () => true,
    close: async () => {},
  }
}

async function matching(keys: Iterable<string>, prefix: string): Promise<string[]> {
  const found: string[] = []
  let seen = 0
  for (const key of keys) {
    if (key.startsWith(prefix)) found.push(key)
    if (++seen % keysPerTurn === 0) await nextTurn()
  }
  return found
}
