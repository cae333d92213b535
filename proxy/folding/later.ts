/** Does something in `ms` milliseconds, once; gives back what calls it off. */
export type Later = (ms: number, action: () => void) => () => void

/** {@link Later} on the process's timers; they do not keep it alive. */
export const later: Later = (ms, action) => {
  const timer = setTimeout(action, ms)
  timer.unref()
  return () => clearTimeout(timer)
}

/** How long to wait before the next try of something that fails: twice as long each time. */
export interface BackOff {
  /** Milliseconds until the next try. */
  next(): number
  /** It worked: the next wait is the first again. */
  reset(): void
}

/** Makes a {@link BackOff} that waits `firstMs`, then up to `mostMs`. */
export function createBackOff(firstMs: number, mostMs: number): BackOff {
  let wait = firstMs
  return {
    next() {
      const now = wait
      wait = Math.min(mostMs, wait * 2)
      return now
    },
    reset() {
      wait = firstMs
    },
  }
}
