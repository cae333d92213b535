import type { Load } from '../engine.ts'
import { refusal } from '../refusal.ts'

/** A bounded number of places with a bounded queue before them, first come first served. */
export interface Slots {
  /**
   * Waits for a place; the function it gives hands the place back (calling it twice is harmless).
   * Throws `queue_full` when too many wait, and the signal's reason when it aborts first.
   */
  acquire(signal: AbortSignal): Promise<() => void>
  load(): Load
}

interface Waiter {
  readonly give: (release: () => void) => void
}

/** Makes `size` places and a queue of at most `maxQueue` waiting calls. */
export function createSlots(size: number, maxQueue: number): Slots {
  let running = 0
  const queue = new Set<Waiter>()
  const release = (): void => {
    const next = queue.values().next().value
    if (next === undefined) {
      running--
      return
    }
    queue.delete(next)
    next.give(createRelease())
  }
  const createRelease = (): (() => void) => {
    let held = true
    return () => {
      if (held) release()
      held = false
    }
  }
  const wait = (signal: AbortSignal): Promise<() => void> =>
    new Promise((resolve, reject) => {
      const leave = (): void => {
        queue.delete(waiter)
        reject(signal.reason)
      }
      const waiter: Waiter = {
        give: (place) => {
          signal.removeEventListener('abort', leave)
          resolve(place)
        },
      }
      queue.add(waiter)
      signal.addEventListener('abort', leave, { once: true })
    })
  return {
    async acquire(signal) {
      signal.throwIfAborted()
      if (running < size) {
        running++
        return createRelease()
      }
      if (queue.size >= maxQueue)
        throw refusal('queue_full', `queue full: ${size} calls running, ${queue.size} waiting`, {
          retryAfterSeconds: 1,
        })
      return wait(signal)
    },
    load: () => ({ running, queued: queue.size, free: Math.max(0, size - running) }),
  }
}
