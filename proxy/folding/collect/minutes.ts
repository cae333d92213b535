import type { MinuteCounts } from '../rollout/evidence-counts.ts'

/** What became of the calls that were drawn into the canary, by the minute in which they began. */
export interface Minutes {
  assigned(startedAt: number): void
  /** Its span has ended. */
  ended(startedAt: number): void
  /** It is over, whether or not a span says so: it is not in flight any more. */
  over(startedAt: number): void
  list(): MinuteCounts[]
}

/** So many minutes are kept, the present one included. */
const kept = 10
const minuteMs = 60_000

/** Makes {@link Minutes}. What was drawn and is neither in flight nor ended by a span has got lost. */
export function createMinutes(): Minutes {
  const minutes = new Map<number, { assigned: number; ended: number; open: number }>()
  const at = (startedAt: number) => minutes.get(Math.floor(startedAt / minuteMs) * minuteMs)
  return {
    assigned(startedAt) {
      let counts = at(startedAt)
      if (!counts) {
        counts = { assigned: 0, ended: 0, open: 0 }
        minutes.set(Math.floor(startedAt / minuteMs) * minuteMs, counts)
        if (minutes.size > kept) minutes.delete(Math.min(...minutes.keys()))
      }
      counts.assigned++
      counts.open++
    },
    ended(startedAt) {
      const counts = at(startedAt)
      if (counts) counts.ended++
    },
    over(startedAt) {
      const counts = at(startedAt)
      if (counts) counts.open--
    },
    list: () =>
      [...minutes]
        .map(([minute, { assigned, ended, open }]) => ({ minute, assigned, accounted: ended + open }))
        .sort((a, b) => a.minute - b.minute),
  }
}
