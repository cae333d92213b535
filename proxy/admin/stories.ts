/** What one layer did to a call. Durations in milliseconds. */
export interface LayerPart {
  readonly name: string
  readonly verdict: string
  readonly decideMs: number
  readonly settleMs: number
}

/** One try at one runner. Milliseconds since the call began. */
export interface AttemptPart {
  readonly runner: string
  readonly model: string
  readonly startMs: number
  readonly endMs?: number
  readonly status?: number
  /** Code of what went wrong. */
  readonly error?: string
}

/** One call as it is remembered for `explain`: what happened to it, and nothing that was said in it. */
export interface CallStory {
  /** The id minted for the call. */
  readonly id: string
  /** The id the caller knows: `x-request-id`. */
  readonly requestId: string
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly route: string
  readonly status: number
  /** Who answered: `gateway`, `cache` or `runner`. */
  readonly source: string
  readonly tenant?: string
  readonly error?: string
  readonly totalMs: number
  readonly firstByteMs?: number
  readonly runnerMs?: number
  readonly tokens?: { readonly input?: number; readonly output?: number }
  /** What the caller thought of the answer, −1 to 1, where it said. */
  readonly feedback?: number
  readonly layers: readonly LayerPart[]
  readonly attempts: readonly AttemptPart[]
}

/** What a remembered call is found by. */
export interface Remembered {
  /** The id minted for the call. */
  readonly id: string
  /** The id the caller knows. */
  readonly requestId: string
}

/** The last calls, so many and no more. */
export interface Memory<Entry extends Remembered> {
  readonly size: number
  remember(entry: Entry): void
  /** By request id, the latest of several, or by call id. */
  find(id: string): Entry | undefined
}

/** Makes a memory of the last `capacity` calls, by default 1000; the oldest goes when another comes. */
export function createMemory<Entry extends Remembered>(capacity = 1_000): Memory<Entry> {
  const ring: Entry[] = []
  const byId = new Map<string, Entry>()
  let oldest = 0
  const forget = (entry: Entry): void => {
    if (byId.get(entry.id) === entry) byId.delete(entry.id)
    if (entry.requestId !== entry.id && byId.get(entry.requestId) === entry) byId.delete(entry.requestId)
  }
  return {
    get size() {
      return ring.length
    },
    remember(entry) {
      const gone = ring[oldest]
      if (gone) forget(gone)
      ring[oldest] = entry
      oldest = (oldest + 1) % capacity
      byId.set(entry.id, entry)
      if (entry.requestId !== entry.id) byId.set(entry.requestId, entry)
    },
    find: (id) => byId.get(id),
  }
}
