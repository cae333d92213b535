import { type GatewayError, gatewayError } from '../plugins/errors.ts'

/** The calls under way: how many, and a way to end them when time is up. */
export interface Flights {
  readonly count: number
  /** How many have begun, ever. */
  readonly begun: number
  /** A call begins; `cut` ends it with an error. Gives back what to call, once, when it is over. */
  began(cut: (error: GatewayError) => void): () => void
  /** Ends every call that is still under way when `deadline` aborts. */
  cutWhen(deadline: AbortSignal): void
  /** Resolves when no call is under way, or when `signal` aborts. */
  none(signal: AbortSignal): Promise<void>
}

/** Makes the list. */
export function createFlights(): Flights {
  const flying = new Set<(error: GatewayError) => void>()
  const waiting = new Set<() => void>()
  let begun = 0
  return {
    get begun() {
      return begun
    },
    get count() {
      return flying.size
    },
    began(cut) {
      // Its own entry, so that the same function may fly twice.
      const entry = (error: GatewayError): void => cut(error)
      begun++
      flying.add(entry)
      return () => {
        flying.delete(entry)
        if (flying.size === 0) for (const wake of [...waiting]) wake()
      }
    },
    cutWhen(deadline) {
      const error = gatewayError('draining', 'the gateway is leaving', { retryAfterMs: 1000 })
      const cutAll = (): void => {
        for (const cut of [...flying]) cut(error)
      }
      if (deadline.aborted) cutAll()
      else deadline.addEventListener('abort', cutAll)
    },
    none(signal) {
      if (flying.size === 0 || signal.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const wake = (): void => {
          waiting.delete(wake)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        waiting.add(wake)
        signal.addEventListener('abort', wake)
      })
    },
  }
}
