/** What became of an identity: first seen, seen before, or no room to remember it. */
export type Recorded = 'fresh' | 'seen' | 'full'

/** Remembers what was accepted, for as long as it could be accepted again. */
export interface ReplaySet {
  /** How many identities are remembered now. */
  readonly size: number
  /**
   * Records an identity that is good until `untilMs`. `full`: it was not recorded, and must not be accepted. Both instants are
   * milliseconds since the epoch.
   */
  record(identity: string, untilMs: number, nowMs: number): Recorded
}

/** Most identities a {@link ReplaySet} remembers by default: 6,500 calls a second that live 40 s, in some 30 MB. */
export const replayCapacity = 262_144

interface Generation {
  readonly identities: Set<string>
  /** When the last of them has lapsed, in milliseconds since the epoch. */
  untilMs: number
}

/**
 * Makes a {@link ReplaySet} of two generations. New identities go into the younger one; once every identity of the older one has lapsed,
 * the younger takes its place. So nothing is forgotten while it is still good, memory is bounded by `capacity`, and each record is
 * constant time.
 */
export function createReplaySet(capacity: number = replayCapacity): ReplaySet {
  let older = createGeneration()
  let younger = createGeneration()
  let forgottenMs = Number.NEGATIVE_INFINITY
  const turn = (nowMs: number): void => {
    if (older.untilMs > nowMs || older.identities.size + younger.identities.size === 0) return
    const paused = younger.untilMs <= nowMs
    forgottenMs = Math.max(forgottenMs, older.untilMs, paused ? younger.untilMs : forgottenMs)
    older = paused ? createGeneration() : younger
    younger = createGeneration()
  }
  return {
    get size() {
      return older.identities.size + younger.identities.size
    },
    record(identity, untilMs, nowMs) {
      turn(nowMs)
      if (younger.identities.has(identity) || older.identities.has(identity)) return 'seen'
      // Only a clock that was put back asks for what may have been forgotten already.
      if (untilMs <= forgottenMs) return 'seen'
      if (older.identities.size + younger.identities.size >= capacity) return 'full'
      younger.identities.add(identity)
      younger.untilMs = Math.max(younger.untilMs, untilMs)
      return 'fresh'
    },
  }
}

function createGeneration(): Generation {
  return { identities: new Set(), untilMs: Number.NEGATIVE_INFINITY }
}
