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

/** The last calls, so many and no more. */
export interface Stories {
  readonly size: number
  remember(story: CallStory): void
  /** By request id, the latest of several, or by call id. */
  find(id: string): CallStory | undefined
}

/** Makes a memory of the last `capacity` calls, by default 1000; the oldest goes when another comes. */
export function createStories(capacity = 1_000): Stories {
  const ring: CallStory[] = []
  const byId = new Map<string, CallStory>()
  let oldest = 0
  const forget = (story: CallStory): void => {
    for (const id of [story.id, story.requestId]) if (byId.get(id) === story) byId.delete(id)
  }
  return {
    get size() {
      return ring.length
    },
    remember(story) {
      const gone = ring[oldest]
      if (gone) forget(gone)
      ring[oldest] = story
      oldest = (oldest + 1) % capacity
      byId.set(story.requestId, story)
      byId.set(story.id, story)
    },
    find: (id) => byId.get(id),
  }
}
