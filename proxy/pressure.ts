import { performance } from 'node:perf_hooks'
import type { Board } from './runner-board.ts'

/** How short of room the gateway is. */
export type Pressure = 'none' | 'raised' | 'high'

/** Measures how busy this process is, and looks at which runners take calls. */
export interface PressureGauge {
  level(board: Pick<Board, 'names' | 'state'>): Pressure
  close(): void
}

/** What a gauge is made with. */
export interface PressureParts {
  /** Share of the time since it was asked last in which the event loop was busy, 0 to 1. */
  readonly busy?: () => number
  /** How often that is asked, in milliseconds; default 1000. */
  readonly everyMs?: number
}

/** Shares of a second in which the event loop was busy, from which on it is hard pressed. */
const raisedBusy = 0.8
const highBusy = 0.95

/**
 * Makes the gauge. Raised: the event loop is busy four fifths of the time, or a runner is out of rotation. High: it is hardly ever idle, or
 * half of the runners are out.
 */
export function createPressureGauge({ busy = eventLoopBusy(), everyMs = 1_000 }: PressureParts = {}): PressureGauge {
  let share = 0
  const timer = setInterval(() => {
    share = busy()
  }, everyMs)
  timer.unref()
  return {
    level({ names, state }) {
      const out = names.filter((name) => !state(name).available).length
      if (share >= highBusy || (out > 0 && out * 2 >= names.length)) return 'high'
      return share >= raisedBusy || out > 0 ? 'raised' : 'none'
    },
    close: () => clearInterval(timer),
  }
}

function eventLoopBusy(): () => number {
  let mark = performance.eventLoopUtilization()
  return () => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, mark)
    mark = now
    return utilization
  }
}
