/** A clock that stands still until it is told to move. */
export interface ManualClock {
  /** Milliseconds since the Unix epoch. */
  now(): number
  /** Moves on; throws when told to go back. */
  advance(ms: number): void
}

/** A clock that stands at `start`, by default the middle of November 2023, on a whole second. */
export function createManualClock(start = 1_700_000_000_000): ManualClock {
  let time = start
  return {
    now: () => time,
    advance(ms) {
      if (ms < 0) throw new Error('a clock does not go back')
      time += ms
    },
  }
}
