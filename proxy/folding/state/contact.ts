import type { Condition } from './state.ts'
import type { Timers } from './timers.ts'

/** Remembers when somebody last answered. */
export interface Contact {
  readonly condition: Condition
  /** Somebody answered, after so many milliseconds. */
  answered(tookMs: number): void
  failed(): void
}

/** An answer that takes longer is slow, in milliseconds. */
const slowMs = 50

/** Makes {@link Contact}: lost since the last answer (or since now, before any) once an ask failed, or none was made for `silentMs`. */
export function createContact(timers: Timers, silentMs: number): Contact {
  let last = timers.elapsed()
  let tookMs = 0
  let failing = true
  return {
    get condition() {
      const sinceMs = timers.elapsed() - last
      if (failing || sinceMs > silentMs) return { lostForMs: sinceMs }
      return tookMs > slowMs ? 'slow' : 'up'
    },
    answered(ms) {
      last = timers.elapsed()
      tookMs = ms
      failing = false
    },
    failed() {
      failing = true
    },
  }
}
