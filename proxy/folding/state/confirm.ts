import { aliveMs, type Sighting } from './glance.ts'
import type { Replica } from './replica.ts'
import type { TripOutcome } from './state.ts'
import type { Timers } from './timers.ts'

/** What is watched for confirmations. */
export interface Watching {
  readonly timers: Timers
  readonly self: Replica
  readonly pollMs: number
  /** Looks now. Never throws. */
  look(): Promise<void>
  /** The replicas as the last look showed them. */
  sighted(): readonly Sighting[]
}

// Between looks for confirmations.
const pauseMs = 25

/** Waits, for one and a half rounds, until every replica that is alive has said that it knows a trip; what it came to. */
export async function confirmTrip(watching: Watching, rolloutId: string): Promise<TripOutcome> {
  const { timers, pollMs } = watching
  const end = timers.elapsed() + pollMs * 1.5
  for (;;) {
    await watching.look()
    const outcome = outcomeOf(watching, rolloutId)
    if (outcome.missing.length === 0 || timers.elapsed() >= end) return outcome
    await new Promise<void>((done) => timers.after(pauseMs, done))
  }
}

function outcomeOf({ self, sighted, pollMs }: Watching, rolloutId: string): TripOutcome {
  // Another run of this replica is over, whatever it said last.
  const others = sighted().filter(({ replica, agoMs }) => replica.id !== self.id && agoMs <= aliveMs(pollMs))
  const missing = others.filter(({ trips }) => !trips.includes(rolloutId)).map(({ replica }) => replica.id)
  return { confirmed: others.length + 1 - missing.length, of: others.length + 1, missing }
}
