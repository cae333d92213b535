import type { PairOutcome } from '../diff/pair-outcome.ts'

/** What pairs of copies have said of one layer that moves. */
export interface PairTally {
  /** Only the new answer differs from the served one; only the old way's repetition does; neither or both. */
  readonly worse: number
  readonly better: number
  readonly ties: number
  /** The new answer was less like the served one than the repetition; more so. Ties fall by a coin. */
  readonly farther: number
  readonly nearer: number
  /** Mean likeness to the served answer, of the repetition and of the new answer; 0 to 1. */
  readonly repeated: number
  readonly renewed: number
  /** Triples that were left out, by reason. */
  readonly left: Readonly<Record<string, number>>
}

/** Counts pairs by the layer that moves. */
export interface PairCounts {
  add(layer: string, outcome: PairOutcome): void
  left(layer: string, reason: string): void
  tally(): Readonly<Record<string, PairTally>>
}

type Counting = { -readonly [Key in keyof PairTally]: PairTally[Key] } & { left: Record<string, number> }

/** Makes {@link PairCounts}. */
export function createPairCounts(): PairCounts {
  const layers = new Map<string, Counting>()
  const of = (layer: string): Counting => {
    const known = layers.get(layer) ?? {
      ...{ worse: 0, better: 0, ties: 0, farther: 0, nearer: 0 },
      ...{ repeated: 0, renewed: 0, left: {} },
    }
    layers.set(layer, known)
    return known
  }
  return {
    add(layer, { differs, farther, repeated, renewed }) {
      const counts = of(layer)
      counts[differs === undefined ? 'ties' : differs === 1 ? 'worse' : 'better']++
      if (farther === undefined || repeated === undefined || renewed === undefined) return
      counts[farther === 1 ? 'farther' : 'nearer']++
      const judged = counts.farther + counts.nearer
      counts.repeated += (repeated - counts.repeated) / judged
      counts.renewed += (renewed - counts.renewed) / judged
    },
    left(layer, reason) {
      const { left } = of(layer)
      left[reason] = (left[reason] ?? 0) + 1
    },
    tally: () =>
      Object.fromEntries([...layers].map(([layer, counts]) => [layer, { ...counts, left: { ...counts.left } }])),
  }
}
