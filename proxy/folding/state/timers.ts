/** Time and timers, which tests drive. */
export interface Timers {
  /** Milliseconds since the epoch: for records. May jump. */
  now(): number
  /** Milliseconds by a clock that never goes back: for how long things take and hold. */
  elapsed(): number
  /** Runs an action once, `ms` from now, unless what is given back is called first. Never keeps the process alive. */
  after(ms: number, action: () => void): () => void
}

/** The {@link Timers} of this process. */
export const processTimers: Timers = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after(ms, action) {
    const timer = setTimeout(action, ms).unref()
    return () => clearTimeout(timer)
  },
}

/** A task that is done again and again, and at once when somebody asks. */
export interface Repeating {
  /** Does it now, or once more after the run under way; resolves after a run that began later than the call. */
  now(): Promise<void>
  /** Ends it; resolves when no run is under way. */
  stop(): Promise<void>
}

/** Does a task every `everyMs`, counted from the end of the run before, first after `everyMs`. Runs never overlap; the task must not throw. */
export function repeat(timers: Timers, everyMs: number, task: () => Promise<void>): Repeating {
  let stopped = false
  let running: Promise<void> | undefined
  let following: Promise<void> | undefined
  let cancel = (): void => undefined
  const begin = (): Promise<void> => {
    cancel()
    const run = task().finally(() => {
      running = undefined
      if (!stopped && !following) cancel = timers.after(everyMs, () => void begin())
    })
    running = run
    return run
  }
  const follow = async (before: Promise<void>): Promise<void> => {
    await before
    following = undefined
    if (!stopped) await begin()
  }
  cancel = timers.after(everyMs, () => void begin())
  return {
    now() {
      if (stopped) return Promise.resolve()
      if (!running) return begin()
      following ??= follow(running)
      return following
    },
    async stop() {
      stopped = true
      cancel()
      await (following ?? running)
    },
  }
}
