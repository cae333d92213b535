import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import type { DrainConfig } from '../config/sections.ts'
import type { Flights } from './flights.ts'

/** How the gateway leaves: not ready at once, new calls for a while yet, then an end. */
export interface Drain {
  /** It has been told to leave; readiness is false and answers carry `Connection: close`. */
  readonly begun: boolean
  /** Tells it to leave. Again: changes nothing. */
  begin(): void
  /** Only waits: for the beginning (at most the delay), the delay, and the end of the last call, its deadline, or `signal`. */
  drained(signal: AbortSignal): Promise<{ readonly drained: boolean; readonly inFlight: number }>
  /** Resolves once the delay is over: the listener may close. */
  delayed(signal: AbortSignal): Promise<void>
  /** Aborts when calls under way have had their time. Only after `begin`. */
  readonly deadline: AbortSignal
}

/** Makes the drain. `times` is asked when it begins. */
export function createDrain(times: () => DrainConfig, flights: Flights): Drain {
  const started = new AbortController()
  const deadline = new AbortController()
  let delayOver: Promise<void> | undefined
  const delayed = async (signal: AbortSignal): Promise<void> => {
    if (delayOver) await Promise.race([delayOver, aborted(signal)])
  }
  return {
    get begun() {
      return started.signal.aborted
    },
    deadline: deadline.signal,
    delayed,
    begin() {
      if (started.signal.aborted) return
      const { delayMs, graceMs } = times()
      delayOver = wait(delayMs, undefined, { ref: false })
      setTimeout(() => deadline.abort(), delayMs + graceMs).unref()
      started.abort()
    },
    async drained(signal) {
      if (!started.signal.aborted) {
        // Hooks of several containers start together, so this question may come first.
        const patience = AbortSignal.timeout(times().delayMs)
        await Promise.race([aborted(started.signal), aborted(AbortSignal.any([signal, patience]))])
      }
      if (started.signal.aborted) await delayed(signal)
      await flights.none(AbortSignal.any([signal, deadline.signal]))
      return { drained: started.signal.aborted && flights.count === 0, inFlight: flights.count }
    },
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}
