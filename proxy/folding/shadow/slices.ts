/** Work that is done between calls, a little at a time. */
export interface Slices {
  /** Does something later; false when too much waits already. What it throws is lost. */
  push(work: () => void): boolean
  /** Resolves when nothing waits. */
  idle(): Promise<void>
}

/** How much may wait, and how long one turn may take, in milliseconds. */
const most = { waiting: 1_024, turnMs: 1 } as const

/** Makes {@link Slices}. Whoever else waits for the event loop gets a turn after every slice. */
export function createSlices({ waiting = most.waiting, turnMs = most.turnMs } = {}): Slices {
  const queue: (() => void)[] = []
  const idle: (() => void)[] = []
  let planned = false
  const turn = (): void => {
    planned = false
    const until = performance.now() + turnMs
    do {
      try {
        queue.shift()?.()
      } catch {
        // It was only a comparison.
      }
    } while (queue.length > 0 && performance.now() < until)
    if (queue.length > 0) plan()
    else for (const done of idle.splice(0)) done()
  }
  const plan = (): void => {
    if (!planned) setImmediate(turn)
    planned = true
  }
  return {
    push(work) {
      if (queue.length >= waiting) return false
      queue.push(work)
      plan()
      return true
    },
    idle: () => (queue.length === 0 && !planned ? Promise.resolve() : new Promise((done) => idle.push(done))),
  }
}
