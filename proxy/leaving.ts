import type { Log } from '../plugins/host.ts'
import type { Drain } from './drain.ts'
import type { Flights } from './flights.ts'
import type { DataServer } from './server.ts'

/** How a gateway ends. */
export interface Leaving {
  /** Politely: not ready, then no new calls, then an end to what is left; see `drain` in the configuration. */
  leave(by: string): Promise<void>
  /** At once: calls under way are cut. Resolves as `leave` does where that has begun, and makes it quicker. */
  close(): Promise<void>
}

/** What leaving takes. */
export interface LeavingParts {
  readonly drain: Drain
  readonly flights: Flights
  readonly server: Pick<DataServer, 'close'>
  readonly log: Log
  /** Stops what goes on by itself, while calls still end. */
  stop(): Promise<void>
  /** Closes everything behind the listener, once no call is left. */
  last(): Promise<void>
}

/** Makes the way out of a gateway. */
export function createLeaving({ drain, flights, server, log, stop, last }: LeavingParts): Leaving {
  const hurry = new AbortController()
  const deadline = AbortSignal.any([drain.deadline, hurry.signal])
  let ended: Promise<void> | undefined
  const end = async (told: () => void): Promise<void> => {
    // Begun first and waited for last: a store that hangs must not keep calls from their deadline.
    const stopped = stop()
    flights.cutWhen(deadline)
    await server.close({ deadline, hurry: hurry.signal })
    told()
    await stopped
    await last()
  }
  return {
    async leave(by) {
      const began = performance.now()
      log.info({ by, inFlight: flights.count }, 'leaving')
      drain.begin()
      await drain.delayed(deadline)
      const delayMs = Math.round(performance.now() - began)
      let cut = 0
      const counts = (): void => {
        cut = flights.count
      }
      deadline.addEventListener('abort', counts)
      if (deadline.aborted) counts()
      ended ??= end(() =>
        log.info(
          { by, delayMs, callsMs: Math.round(performance.now() - began) - delayMs, cut },
          'every call has ended',
        ),
      )
      await ended
    },
    close() {
      hurry.abort()
      ended ??= end(() => undefined)
      return ended
    },
  }
}
