import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Flights } from './flights.ts'

/** Gives memory back while nobody is waiting. */
export interface Housekeeping {
  close(): void
}

const firstMs = 1500
const everyMs = 5000
/** How long no call may have begun or been under way before the house is cleaned. */
const idleMs = 40_000
/** How much larger than after the start the process must have grown. */
const growth = 1.4

/**
 * V8 keeps the pages of a heap that has once been large: after reading the configuration, and after a burst of calls. A collection of the
 * kind it makes when memory runs out gives them back. It takes some tens of milliseconds and lets compiled code go too, so that the calls
 * after it are slower for a moment: it is made once after the start, and then only when a gateway that has grown has long been idle.
 */
export function startHousekeeping(flights: Flights): Housekeeping {
  const collect = collector()
  let seen = 0
  let quietSince = performance.now()
  let clean = false
  let least = 0
  const look = (patienceMs: number): void => {
    const now = performance.now()
    if (flights.count > 0 || flights.begun !== seen) {
      seen = flights.begun
      quietSince = now
      clean = false
    } else if (!clean && now - quietSince >= patienceMs) {
      clean = true
      if (process.memoryUsage.rss() < least * growth) return
      collect()
      least ||= process.memoryUsage.rss()
    }
  }
  const first = setTimeout(look, firstMs, 0)
  const timer = setInterval(look, everyMs, idleMs)
  first.unref()
  timer.unref()
  return {
    close() {
      clearTimeout(first)
      clearInterval(timer)
    },
  }
}

function collector(): () => void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as (options: object) => void
  return () => gc({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}
