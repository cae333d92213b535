import type { Clock, RunnerState } from '../plugins/host.ts'

/** When a runner is taken out of rotation, and for how long. */
export interface EjectionPolicy {
  /** Consecutive failures that eject it. */
  readonly after: number
  /** Milliseconds it stays out before one probe may try it. */
  readonly forMs: number
}

/**
 * What is known of the runners: who answers, who is out, how much is under way. Failures are the runner's own: a caller's 4xx
 * or abort never counts.
 */
export interface Board {
  readonly names: readonly string[]
  state(name: string): RunnerState
  /** Takes a place on the runner for about `tokens`; false when it is ejected or its one half-open probe is under way. */
  enter(name: string, tokens: number): boolean
  /** Gives the place back. Called once for every successful `enter`. */
  leave(name: string, tokens: number, outcome: Outcome): void
}

/** How an attempt ended, as far as the runner's health goes. */
export type Outcome = 'healthy' | 'failed' | 'unknown'

interface Entry {
  failures: number
  ejectedUntil: number
  probing: boolean
  outstanding: number
}

/** What the board is made with. */
export interface BoardParts {
  readonly clock: Clock
  readonly policies: ReadonlyMap<string, EjectionPolicy>
  readonly onEject?: (name: string) => void
}

const never: EjectionPolicy = { after: Number.POSITIVE_INFINITY, forMs: 0 }

/** Makes the board for a list of runners. `onEject` hears of each ejection. */
export function createBoard(names: readonly string[], { clock, policies, onEject }: BoardParts): Board {
  const entries = new Map<string, Entry>(
    names.map((name) => [name, { failures: 0, ejectedUntil: 0, probing: false, outstanding: 0 }]),
  )
  const entry = (name: string): Entry =>
    entries.get(name) ?? { failures: 0, ejectedUntil: 0, probing: false, outstanding: 0 }
  return {
    names,
    state(name) {
      const { ejectedUntil, outstanding, probing } = entry(name)
      const wait = Math.max(0, ejectedUntil - clock.now())
      return { available: wait === 0 && !probing, retryAfterMs: wait, outstandingTokens: outstanding }
    },
    enter(name, tokens) {
      const one = entry(name)
      if (one.ejectedUntil > clock.now() || one.probing) return false
      one.probing = one.ejectedUntil > 0
      one.outstanding += tokens
      return true
    },
    leave(name, tokens, outcome) {
      const one = entry(name)
      one.outstanding -= tokens
      const wasProbe = one.probing
      one.probing = false
      if (outcome === 'healthy') Object.assign(one, { failures: 0, ejectedUntil: 0 })
      if (outcome !== 'failed') return
      one.failures++
      const { after, forMs } = policies.get(name) ?? never
      if (!wasProbe && one.failures < after) return
      one.ejectedUntil = clock.now() + forMs
      onEject?.(name)
    },
  }
}

/** Limits how many retries there may be: each call earns a part of one, so that a storm of failures does not double the load. */
export interface RetryBudget {
  earn(): void
  /** True, and one retry poorer, when a retry may be made. */
  spend(): boolean
}

/** Makes a {@link RetryBudget} that earns `ratio` a call and starts with, and never holds more than, ten retries. */
export function createRetryBudget(ratio: number): RetryBudget {
  const most = 10
  let left = most
  return {
    earn() {
      left = Math.min(most, left + ratio)
    },
    spend() {
      if (left < 1) return false
      left -= 1
      return true
    },
  }
}
