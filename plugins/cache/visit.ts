import type { Place } from './address.ts'
import type { Entry } from './entry.ts'
import type { Flight, Flights } from './flights.ts'
import type { Lease } from './lease.ts'

/** A call that went further in: what is remembered of it until it is over. */
export interface Visit {
  /** Its `Cache-Status`. */
  readonly status: string
  /** Where its answer belongs; undefined when it is not kept. */
  readonly place: Place | undefined
  /** The flight it leads, if identical calls wait for it. */
  readonly flight: Flight | undefined
  lease: Lease | undefined
  /** Its answer is here, and is still being judged. */
  judging: boolean
  /** What it led is settled. */
  concluded: boolean
}

/** A new {@link Visit}. */
export function createVisit(status: string, place?: Place, flight?: Flight): Visit {
  return { status, place, flight, lease: undefined, judging: false, concluded: false }
}

/** The answer was kept: whoever waits gets it. Also after another call has taken over, since an answer is an answer. */
export function land(
  visit: Visit,
  flights: Flights,
  kept: { readonly entry: Entry; readonly stored: Promise<void> },
): void {
  visit.concluded = true
  const { lease } = visit
  if (lease) void kept.stored.then(() => lease.end(true))
  if (visit.flight) flights.land(visit.flight, kept.entry)
}

/** The call failed or its caller left: the next in line takes over. */
export function giveUp(visit: Visit, flights: Flights): void {
  if (visit.concluded) return
  visit.concluded = true
  visit.lease?.end(false)
  if (visit.flight) flights.fail(visit.flight)
}

/** The answer is not one to keep: nobody waits for it any longer, nor for the like of it until `avoidUntil`. */
export function turnLoose(visit: Visit, flights: Flights, avoidUntil: number): void {
  if (visit.concluded) return
  visit.concluded = true
  visit.lease?.end(false)
  if (visit.flight) flights.scatter(visit.flight, avoidUntil)
}
