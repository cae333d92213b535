/**
 * A small atomic program over stored values. Written twice, side by side in one file, and tested to agree: in Lua for Redis, and here
 * for the embedded store. Keys of one run share one hash tag, so that it runs on a cluster.
 */
export interface Script {
  readonly name: string
  /** Redis Lua: `KEYS`, `ARGV`; returns an array of integers and strings. */
  readonly lua: string
  /** The same over the embedded store's memory. */
  readonly local: (memory: Memory, keys: readonly string[], args: readonly string[]) => readonly (number | string)[]
}

/** What a script's local half may touch: values with an expiry, at one instant. */
export interface Memory {
  /** Milliseconds since the epoch. */
  readonly now: number
  get(key: string): string | undefined
  /** `ttlMs` from now; a value without it stays until it is deleted. */
  set(key: string, value: string, ttlMs?: number): void
  delete(key: string): void
}

/** Shared state: embedded in this process, or Redis. */
export interface Store {
  readonly kind: 'embedded' | 'redis'
  /** What to do when the store is away. `local`: the store has gone on by itself over this process's memory. */
  readonly onLoss: 'open' | 'closed' | 'local'
  /** Runs a script atomically. Throws `store_lost` when the store is away and `onLoss` is not `local`. */
  run(
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<readonly (number | string)[]>
  /** A value's bytes, or undefined; a store that is away has nothing. */
  get(key: string): Promise<Buffer | undefined>
  /** Keeps bytes for `ttlMs`. A store that is away drops them. */
  set(key: string, value: Buffer, ttlMs: number): Promise<void>
  /** Keeps bytes only if there are none; true when they were kept. */
  add(key: string, value: Buffer, ttlMs: number): Promise<boolean>
  delete(...keys: string[]): Promise<void>
  /** Deletes every key that begins with `prefix`; how many there were. */
  deletePrefix(prefix: string): Promise<number>
  /** The fields of a hash, for profile lookups; undefined when there is none or the store is away. */
  hash(key: string): Promise<Readonly<Record<string, string>> | undefined>
  /** Appends an entry to a stream, bounded to about `maxEntries`. */
  append(stream: string, fields: Readonly<Record<string, string>>, maxEntries: number): Promise<void>
  /** Whether the store answers now. */
  up(): boolean
  close(): Promise<void>
}
