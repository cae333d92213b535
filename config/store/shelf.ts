/** How much a {@link Shelf} may hold. */
export interface ShelfLimits {
  /** Keys, values and bookkeeping together, in bytes. */
  readonly maxBytes: number
  readonly maxEntries: number
}

/**
 * Things kept in memory by key, each with an instant at which it is gone. What was used longest ago makes room for what is new; what
 * has expired goes a few entries at a time with each write, so that no write is slow and no timer is needed.
 */
export interface Shelf<T> {
  /** The value, unless it is gone at `now` (milliseconds since the epoch). Counts as a use. */
  get(key: string, now: number): T | undefined
  /** Keeps a value until `expiresAt`; one that is larger than the whole shelf is not kept. */
  set(key: string, item: { readonly value: T; readonly expiresAt: number }, now: number): void
  /** True when there was something. */
  delete(key: string): boolean
  keys(): IterableIterator<string>
  readonly bytes: number
  readonly size: number
}

interface Entry<T> {
  readonly value: T
  readonly expiresAt: number
  readonly bytes: number
}

// What a map entry costs beside its key and value, measured roughly on V8.
const overheadBytes = 96
// Two looked at for each one written: the sweep outruns the growth.
const sweptPerWrite = 2

/** Makes a {@link Shelf}. `sizeOf` gives a value's size in bytes. */
export function createShelf<T>(limits: ShelfLimits, sizeOf: (value: T) => number): Shelf<T> {
  const entries = new Map<string, Entry<T>>()
  let bytes = 0
  let cursor = entries.entries()
  const remove = (key: string, entry: Entry<T>): void => {
    entries.delete(key)
    bytes -= entry.bytes
  }
  const sweep = (now: number): void => {
    for (let i = 0; i < sweptPerWrite; i++) {
      const next = cursor.next()
      if (next.done) {
        cursor = entries.entries()
        return
      }
      const [key, entry] = next.value
      if (entry.expiresAt <= now) remove(key, entry)
    }
  }
  const makeRoom = (): void => {
    for (const [key, entry] of entries) {
      if (bytes <= limits.maxBytes && entries.size <= limits.maxEntries) return
      remove(key, entry)
    }
  }
  return {
    get(key, now) {
      const entry = entries.get(key)
      if (!entry) return undefined
      if (entry.expiresAt <= now) {
        remove(key, entry)
        return undefined
      }
      entries.delete(key)
      entries.set(key, entry)
      return entry.value
    },
    set(key, { value, expiresAt }, now) {
      const old = entries.get(key)
      if (old) remove(key, old)
      sweep(now)
      const size = overheadBytes + key.length * 2 + sizeOf(value)
      if (size > limits.maxBytes) return
      entries.set(key, { value, expiresAt, bytes: size })
      bytes += size
      makeRoom()
    },
    delete(key) {
      const entry = entries.get(key)
      if (entry) remove(key, entry)
      return entry !== undefined
    },
    keys: () => entries.keys(),
    get bytes() {
      return bytes
    },
    get size() {
      return entries.size
    },
  }
}
