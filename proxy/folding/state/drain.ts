import type { Condition } from './state.ts'

/** For so long nothing changes when nobody answers, in milliseconds. */
export const freezeMs = 60_000

/** And over so long after that, shares go down to nothing, in milliseconds. */
export const drainMs = 60_000

/**
 * A share while nobody has answered for `lostForMs`: as it was for a minute, then down to 0 over the next, in a straight line. Whole
 * numbers, rounded down; it never rises with time, so that units leave in one order and none comes back.
 */
export function weightNow(weight: number, lostForMs: number): number {
  if (lostForMs < freezeMs) return weight
  return Math.max(0, Math.floor(weight * (1 - (lostForMs - freezeMs) / drainMs)))
}

/** How long nobody has answered, in milliseconds; 0 when somebody does. */
export function lostFor(condition: Condition): number {
  return typeof condition === 'string' ? 0 : condition.lostForMs
}
