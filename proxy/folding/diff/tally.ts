import type { Comparison, SkipReason } from './comparison.ts'
import { type Strata, strataKey } from './strata.ts'

/** What a comparison was counted as. `ignored`: it differs, and somebody answers for every difference in it. */
export type Counted = 'equal' | 'differs' | 'ignored' | 'skipped'

/** Comparisons by what they were counted as. `skipped` leaves out those that were never meant to be compared. */
export type Counts = Readonly<Record<Counted, number>>

/** Counts with what they say of coverage. */
export interface Covered extends Counts {
  /** Of what could have been compared, the share that was, 0 to 1; 1 when there was nothing. */
  readonly coverage: number
}

/** Counts of one layer, in all and by stratum. */
export interface Tally {
  /** `hard`: it differs in class H, and nobody answers for that. */
  add(comparison: Comparison, as: Counted, hard: boolean): void
  total(): Covered
  /** Skipped comparisons by reason, `not-drawn` among them. */
  skipped(): Readonly<Partial<Record<SkipReason, number>>>
  /** Comparisons that differ in class H, where nobody answers for that. */
  hard(): number
  /** By tier and stratum, such as `vip|stream,4k`. */
  cells(): Readonly<Record<string, Covered>>
  /** By one dimension at a time, such as `stream=true` or `tier=vip`; each comparison counts in all. */
  margins(): Readonly<Record<string, Covered>>
}

interface Cell {
  readonly tier: string
  readonly strata: Strata
  readonly counts: Record<Counted, number>
}

/** Tiers come from configuration and claims; beyond so many cells, further ones count as tier `other`. */
const mostCells = 1_000

/** Makes a {@link Tally}. */
export function createTally(): Tally {
  const cells = new Map<string, Cell>()
  const reasons: Partial<Record<SkipReason, number>> = {}
  let hard = 0
  const cellFor = ({ tier, strata }: Comparison): Cell => {
    const named = `${tier}|${strataKey(strata)}`
    const full = !cells.has(named) && cells.size >= mostCells
    const key = full ? `other|${strataKey(strata)}` : named
    let cell = cells.get(key)
    if (!cell) {
      cell = { tier: full ? 'other' : tier, strata, counts: noCounts() }
      cells.set(key, cell)
    }
    return cell
  }
  const all = (): Cell[] => [...cells.values()]
  return {
    add(comparison, as, isHard) {
      if (comparison.verdict === 'skipped') reasons[comparison.reason] = (reasons[comparison.reason] ?? 0) + 1
      if (comparison.verdict === 'skipped' && comparison.reason === 'not-drawn') return
      if (isHard) hard++
      cellFor(comparison).counts[as]++
    },
    total: () => covered(sumOf(all())),
    skipped: () => ({ ...reasons }),
    hard: () => hard,
    cells: () => Object.fromEntries([...cells].map(([key, { counts }]) => [key, covered(counts)])),
    margins: () => marginsOf(all()),
  }
}

function noCounts(): Record<Counted, number> {
  return { equal: 0, differs: 0, ignored: 0, skipped: 0 }
}

function sumOf(cells: readonly Cell[]): Counts {
  const sum = noCounts()
  for (const { counts } of cells) for (const as of Object.keys(sum) as Counted[]) sum[as] += counts[as]
  return sum
}

function covered(counts: Counts): Covered {
  const compared = counts.equal + counts.differs + counts.ignored
  const could = compared + counts.skipped
  return { ...counts, coverage: could === 0 ? 1 : compared / could }
}

function marginsOf(cells: readonly Cell[]): Record<string, Covered> {
  const groups = new Map<string, Cell[]>()
  for (const cell of cells) {
    for (const [name, value] of Object.entries({ tier: cell.tier, ...cell.strata })) {
      const key = `${name}=${value}`
      groups.set(key, [...(groups.get(key) ?? []), cell])
    }
  }
  return Object.fromEntries([...groups].sort().map(([key, group]) => [key, covered(sumOf(group))]))
}
