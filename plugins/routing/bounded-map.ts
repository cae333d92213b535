/** A map that forgets the longest unused entry once it is full. */
export interface BoundedMap<Value> {
  get(key: string): Value | undefined
  set(key: string, value: Value): void
  readonly size: number
}

/** Makes a {@link BoundedMap} of at most `maxEntries`. */
export function createBoundedMap<Value>(maxEntries: number): BoundedMap<Value> {
  const entries = new Map<string, Value>()
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
      const oldest = entries.keys().next()
      if (!oldest.done) entries.delete(oldest.value)
    },
  }
}
