import type { Entry } from './entry.ts'

/** What an entry costs in this process beside its bytes, roughly. */
const overheadBytes = 700

/** The answers at hand in this process: bounded by bytes, the least recently used go first. */
export interface Front {
  /** An entry and how long it may be answered from without asking the store, in milliseconds since the epoch. Counts as a use. */
  get(digest: string): { readonly entry: Entry; readonly checkedUntil: number } | undefined
  /** One that is larger than all there is room for is not kept. */
  set(entry: Entry, checkedUntil: number): void
  delete(digest: string): void
  /** Deletes what fits; how many there were. */
  deleteWhere(fits: (entry: Entry) => boolean): number
  readonly bytes: number
}

/** Makes a {@link Front} for at most `maxBytes`. */
export function createFront(maxBytes: number): Front {
  const held = new Map<string, { readonly entry: Entry; readonly checkedUntil: number }>()
  let bytes = 0
  const remove = (digest: string): void => {
    const old = held.get(digest)
    if (!old) return
    held.delete(digest)
    bytes -= sizeOf(old.entry)
  }
  return {
    get(digest) {
      const found = held.get(digest)
      if (!found) return undefined
      held.delete(digest)
      held.set(digest, found)
      return found
    },
    set(entry, checkedUntil) {
      remove(entry.meta.sha)
      if (sizeOf(entry) > maxBytes) return
      held.set(entry.meta.sha, { entry, checkedUntil })
      bytes += sizeOf(entry)
      for (const digest of held.keys()) {
        if (bytes <= maxBytes) break
        remove(digest)
      }
    },
    delete: remove,
    deleteWhere(fits) {
      const found = [...held.values()].filter(({ entry }) => fits(entry))
      for (const { entry } of found) remove(entry.meta.sha)
      return found.length
    },
    get bytes() {
      return bytes
    },
  }
}

function sizeOf({ json }: Entry): number {
  return json.length + overheadBytes
}
