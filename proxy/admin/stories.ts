/** What one layer did to a call. Durations in milliseconds. */
export interface LayerPart {
  readonly name: string
  readonly verdict: string
  /** `observe`: it was asked in the gateway, but the runner decided. */
  readonly mode: 'enforce' | 'observe'
  readonly decideMs: number
  readonly settleMs: number
}

/** What one layer was to do at the runner for a call, and what the runner says it did. */
export interface FoldedLayerPart {
  readonly name: string
  /** Absent where it is simply in the gateway. */
  readonly stage?: string
  /** What it was to do at the runner; absent: it was not asked there, or no more. */
  readonly mode?: 'enforce' | 'observe'
  /** What of it the runner acknowledged: outcome, code of a refusal, microseconds, and the digest that shadow compares. */
  readonly outcome?: string
  readonly code?: string
  readonly us?: number
  readonly essence?: string
  /** Why the gateway took it back. */
  readonly fallback?: string
  /** The stream ended without saying what came of it. */
  readonly unacknowledged?: true
}

/** How a call was split with the runner. */
export interface FoldPart {
  /** Boot id of the process that acknowledged it, and the digest of the policy; absent: none did. */
  readonly boot?: string
  readonly policy?: string
  /** How often it was sent with a context. */
  readonly sends: number
  /** The first reason that a layer fell back for. */
  readonly reason?: string
  /** Outermost first; those that had nothing to do with the runner are not among them. */
  readonly layers: readonly FoldedLayerPart[]
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
  /** Path of the first directive of the caller that was not valid. */
  readonly directiveFault?: string
  readonly totalMs: number
  readonly firstByteMs?: number
  readonly runnerMs?: number
  readonly tokens?: { readonly input?: number; readonly output?: number }
  /** What the caller thought of the answer, −1 to 1, where it said. */
  readonly feedback?: number
  readonly layers: readonly LayerPart[]
  /** Absent where every layer sat in the gateway. */
  readonly fold?: FoldPart
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
  // No index: every call would pay for it, and hardly any is looked for.
  const ring: Entry[] = []
  let oldest = 0
  return {
    get size() {
      return ring.length
    },
    remember(entry) {
      ring[oldest] = entry
      oldest = (oldest + 1) % capacity
    },
    find(id) {
      for (let back = 1; back <= ring.length; back++) {
        const entry = ring[(oldest - back + ring.length) % ring.length] as Entry
        if (entry.requestId === id || entry.id === id) return entry
      }
      return undefined
    },
  }
}
