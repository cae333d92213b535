import type { LiveLatency } from './live-latency.ts'

/** Why a comparison was not begun. */
export type DropReason = 'inflight' | 'tokens' | 'live-traffic' | 'off'

/** A comparison under way: its place and its tokens. */
export interface ShadowLease {
  /** Once, with the tokens it really took, as far as they are known. */
  end(tokens?: number): void
}

/** Keeps comparing from costing the live calls anything: so many at a time, so many tokens a second, none when those suffer. */
export interface ShadowBudget {
  /** Room for a comparison that will take about so many tokens; or why there is none, which is counted. */
  ask(tokens: number): ShadowLease | DropReason
  readonly inflight: number
  /** What was not begun so far. */
  dropped(): Readonly<Record<DropReason, number>>
  /** Nothing is begun until it is switched on again. */
  switch(on: boolean): void
}

/** What a {@link ShadowBudget} is made with. */
export interface ShadowBudgetParts {
  /** Default 8. */
  readonly maxInflight?: number
  /** Tokens, in and out, that may be spent in a second. Default 2,000. */
  readonly tokensPerSecond?: number
  /** How much may be saved up, in tokens. Default ten seconds of them. */
  readonly burst?: number
  readonly live?: LiveLatency
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/** Makes a {@link ShadowBudget}. What a comparison took beyond what it asked for is owed, so that the rate holds in the long run. */
export function createShadowBudget(parts: ShadowBudgetParts): ShadowBudget {
  const { maxInflight = 8, tokensPerSecond = 2_000, live, now } = parts
  const burst = parts.burst ?? tokensPerSecond * 10
  const dropped: Record<DropReason, number> = { inflight: 0, tokens: 0, 'live-traffic': 0, off: 0 }
  let [inflight, on, level, at] = [0, true, burst, now()]
  const refill = (): void => {
    const since = now()
    level = Math.min(burst, level + ((since - at) / 1_000) * tokensPerSecond)
    at = since
  }
  const why = (tokens: number): DropReason | undefined => {
    if (!on) return 'off'
    if (inflight >= maxInflight) return 'inflight'
    if (live?.isSlow(now())) return 'live-traffic'
    // One that asks for more than can ever be saved up goes when all of it is.
    return level < Math.min(tokens, burst) ? 'tokens' : undefined
  }
  return {
    get inflight() {
      return inflight
    },
    ask(tokens) {
      refill()
      const reason = why(tokens)
      if (reason) {
        dropped[reason]++
        return reason
      }
      inflight++
      level -= tokens
      let over = false
      return {
        end(spent = tokens) {
          if (over) return
          over = true
          inflight--
          level = Math.min(burst, level + tokens - spent)
        },
      }
    },
    dropped: () => ({ ...dropped }),
    switch(to) {
      on = to
    },
  }
}
