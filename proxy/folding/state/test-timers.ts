import type { Timers } from './timers.ts'

/** Timers that a test moves. */
export interface ManualTimers extends Timers {
  /** Moves on, firing what is due in order, and lets everything that follows from it happen. */
  advance(ms: number): Promise<void>
}

/** Makes {@link ManualTimers}. */
export function createManualTimers(): ManualTimers {
  let time = 1_000
  const due = new Set<{ readonly at: number; readonly action: () => void }>()
  return {
    now: () => 1_700_000_000_000 + time,
    elapsed: () => time,
    after(ms, action) {
      const timer = { at: time + ms, action }
      due.add(timer)
      return () => void due.delete(timer)
    },
    async advance(ms) {
      const end = time + ms
      for (;;) {
        await settled()
        const [next] = [...due].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)
        if (!next) break
        due.delete(next)
        time = Math.max(time, next.at)
        next.action()
      }
      time = end
    },
  }
}

/** Whatever was under way in memory has come to rest. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 12; turn++) await new Promise((next) => setImmediate(next))
}
