import { gatewayError } from '../errors.ts'
import type { Entry } from './entry.ts'

/** What becomes of a call that waited: it gets the answer, it takes over as the one that asks, or it goes on by itself. */
export type Outcome = Entry | 'lead' | 'alone'

/** One question that is under way, and the calls that wait for its answer. */
export interface Flight {
  readonly digest: string
  readonly waiting: Set<(outcome: Outcome) => void>
}

/** How a call waits. */
export interface Wait {
  readonly signal: AbortSignal
  readonly waitMs: number
}

/**
 * Identical calls of this process that are under way: one asks, the others wait. At every moment a flight has exactly one call that
 * leads it, which must `land`, `fail` or `scatter` it.
 */
export interface Flights {
  /** The flight under way, or a new one that the caller leads; undefined for a question whose answers are known not to be kept. */
  join(digest: string, now: number): { readonly flight: Flight; readonly leads: boolean } | undefined
  /** Throws `client_closed` when the signal aborts first. */
  wait(flight: Flight, wait: Wait): Promise<Outcome>
  /** Everybody gets the answer. */
  land(flight: Flight, entry: Entry): void
  /** The call that led is gone or failed: the one that waits longest takes over. */
  fail(flight: Flight): void
  /** The answer is not one to keep: everybody goes on by itself, and until then nobody waits for the like of it. */
  scatter(flight: Flight, avoidUntil: number): void
}

/** Questions that are remembered as not worth waiting for. */
const maxAvoided = 10_000

/** Makes {@link Flights}. */
export function createFlights(): Flights {
  const flights = new Map<string, Flight>()
  const avoided = new Map<string, number>()
  const end = (flight: Flight, outcome: Outcome): void => {
    if (flights.get(flight.digest) === flight) flights.delete(flight.digest)
    for (const tell of [...flight.waiting]) tell(outcome)
  }
  return {
    join(digest, now) {
      const until = avoided.get(digest)
      if (until !== undefined && until > now) return undefined
      if (until !== undefined) avoided.delete(digest)
      const under = flights.get(digest)
      if (under) return { flight: under, leads: false }
      const flight: Flight = { digest, waiting: new Set() }
      flights.set(digest, flight)
      return { flight, leads: true }
    },
    wait: waitFor,
    land: end,
    fail(flight) {
      const [next] = flight.waiting
      if (next) next('lead')
      else end(flight, 'alone')
    },
    scatter(flight, avoidUntil) {
      avoided.delete(flight.digest)
      avoided.set(flight.digest, avoidUntil)
      for (const digest of avoided.keys()) {
        if (avoided.size <= maxAvoided) break
        avoided.delete(digest)
      }
      end(flight, 'alone')
    },
  }
}

function waitFor(flight: Flight, { signal, waitMs }: Wait): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', gone)
      flight.waiting.delete(tell)
    }
    const tell = (outcome: Outcome): void => {
      leave()
      resolve(outcome)
    }
    const gone = (): void => {
      leave()
      reject(gatewayError('client_closed', 'the caller went away'))
    }
    const timer = setTimeout(tell, waitMs, 'alone')
    if (signal.aborted) return gone()
    signal.addEventListener('abort', gone)
    flight.waiting.add(tell)
  })
}
