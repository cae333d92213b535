/** What is kept in bounded room. */
export type Bounded = 'cells' | 'tiers' | 'marks' | 'strata' | 'runners' | 'repeats' | 'waiting' | 'rollouts'

/** How much of each a process keeps; what is beyond is counted, and said the first time. */
export const most: Readonly<Record<Bounded, number>> = {
  cells: 1_024,
  tiers: 16,
  marks: 4_096,
  strata: 48,
  runners: 64,
  repeats: 8_192,
  waiting: 4_096,
  rollouts: 4,
}

/** Counts what did not fit. */
export interface Overflow {
  readonly counts: Readonly<Partial<Record<Bounded, number>>>
  add(what: Bounded): void
}

/** Makes an {@link Overflow}; `first` is told the first time that something does not fit. */
export function createOverflow(first: (what: Bounded) => void = () => undefined): Overflow {
  const counts: Partial<Record<Bounded, number>> = {}
  return {
    counts,
    add(what) {
      counts[what] = (counts[what] ?? 0) + 1
      if (counts[what] === 1) first(what)
    },
  }
}
