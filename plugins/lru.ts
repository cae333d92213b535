/** A map that keeps the entries used last and forgets the rest. */
export interface Lru<V> {
  readonly size: number
  /** The value, which counts as a use; undefined when it is not there. */
  get(key: string): V | undefined
  set(key: string, value: V): void
  clear(): void
}

/** Makes an {@link Lru} of at most `maxEntries` entries. */
export function createLru<V>(maxEntries: number): Lru<V> {
  // A Map iterates in the order of insertion, so the first key is the one not used for longest.
  const entries = new Map<string, V>()
  return {
    get size() {
      return entries.size
    },
    get(key) {
      const value = entries.get(key)
      if (value === undefined) return undefined
      entries.delete(key)
      entries.set(key, value)
      return value
    },
    set(key, value) {
      entries.delete(key)
      entries.set(key, value)
      if (entries.size <= maxEntries) return
      const [oldest] = entries.keys()
      if (oldest !== undefined) entries.delete(oldest)
    },
    clear: () => entries.clear(),
  }
}
