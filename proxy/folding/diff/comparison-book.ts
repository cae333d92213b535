import type { Comparison, SkipReason } from './comparison.ts'
import type { F1Kind } from './difference.ts'
import {
  createExemplars,
  defaultLimits,
  type ExemplarLimits,
  type Exemplars,
  type SignatureRecord,
} from './exemplars.ts'
import { createIgnores, type IgnoreRule, type Ignores } from './ignore-rules.ts'
import { type Counted, type Covered, createTally, type Tally } from './tally.ts'

/** What is known of one layer since its stage began, as JSON. */
export interface LayerBook {
  readonly stage: string
  /** When the stage began, in milliseconds since the epoch; 0: with the process. */
  readonly since: number
  readonly total: Covered
  /** Comparisons that differ hard and that nobody answers for. */
  readonly hard: number
  readonly f1: Readonly<Partial<Record<F1Kind, number>>>
  readonly skipped: Readonly<Partial<Record<SkipReason, number>>>
  readonly margins: Readonly<Record<string, Covered>>
  readonly cells: Readonly<Record<string, Covered>>
  readonly signatures: readonly SignatureRecord[]
  /** Differences beyond the signatures that are kept. */
  readonly beyond: number
  /** Rules on class H that keep it from being promoted. */
  readonly blockedBy: readonly IgnoreRule[]
}

/** The book as JSON, for `/-/diffs` and the command `diff`. */
export interface BookSnapshot {
  readonly at: number
  readonly layers: Readonly<Record<string, LayerBook>>
  readonly ignores: { readonly active: readonly IgnoreRule[]; readonly expired: readonly IgnoreRule[] }
}

/** What was found by comparing, kept by layer, stratum and signature, in bounded memory. */
export interface ComparisonBook {
  /** Counts a comparison, and says as what. */
  add(comparison: Comparison): Counted
  /** A layer enters a stage: what was counted of it before is gone. */
  begin(layer: string, stage: string, at: number): void
  /** What is known of a layer; undefined when nothing is. */
  layer(name: string, at: number): LayerBook | undefined
  snapshot(at: number): BookSnapshot
}

/** What a {@link ComparisonBook} is made with. */
export interface BookParts {
  readonly ignores?: Ignores
  readonly limits?: Partial<ExemplarLimits>
}

interface Page {
  readonly stage: string
  readonly since: number
  readonly tally: Tally
  readonly exemplars: Exemplars
  readonly f1: Partial<Record<F1Kind, number>>
}

/** Makes a {@link ComparisonBook}. */
export function createComparisonBook({ ignores = createIgnores([]), limits }: BookParts = {}): ComparisonBook {
  const pages = new Map<string, Page>()
  const open = (layer: string, stage: string, since: number): Page => {
    const exemplars = createExemplars({ ...defaultLimits, ...limits })
    const page = { stage, since, tally: createTally(), exemplars, f1: {} }
    pages.set(layer, page)
    return page
  }
  const shown = (layer: string, page: Page, at: number): LayerBook => ({
    ...factsOf(page),
    blockedBy: ignores.blocking(layer, at),
  })
  return {
    add(comparison) {
      const page = pages.get(comparison.layer) ?? open(comparison.layer, '', 0)
      const { as, hard } = note(page, comparison, ignores)
      page.tally.add(comparison, as, hard)
      return as
    },
    begin(layer, stage, at) {
      open(layer, stage, at)
    },
    layer(name, at) {
      const page = pages.get(name)
      return page && shown(name, page, at)
    },
    snapshot: (at) => ({
      at,
      layers: Object.fromEntries([...pages].map(([layer, page]) => [layer, shown(layer, page, at)])),
      ignores: {
        active: ignores.rules.filter((rule) => ignores.isActive(rule, at)),
        expired: ignores.rules.filter((rule) => !ignores.isActive(rule, at)),
      },
    }),
  }
}

function factsOf({ stage, since, tally, exemplars, f1 }: Page): Omit<LayerBook, 'blockedBy'> {
  return {
    stage,
    since,
    total: tally.total(),
    hard: tally.hard(),
    f1: { ...f1 },
    skipped: tally.skipped(),
    margins: tally.margins(),
    cells: tally.cells(),
    signatures: exemplars.list(),
    beyond: exemplars.beyond(),
  }
}

interface Noted {
  readonly as: Counted
  readonly hard: boolean
}

/** Notes what differs, and says what the comparison counts as: ignored only when every difference in it is. */
function note(page: Page, comparison: Comparison, ignores: Ignores): Noted {
  if (comparison.verdict !== 'differs') return { as: comparison.verdict, hard: false }
  let [all, hard] = [true, false]
  for (const difference of comparison.differences) {
    const ignored = ignores.match(comparison.layer, difference, comparison.at) !== undefined
    all &&= ignored
    hard ||= !ignored && difference.class === 'H'
    page.exemplars.note(comparison, difference, ignored)
    if (difference.f1) page.f1[difference.f1] = (page.f1[difference.f1] ?? 0) + 1
  }
  return { as: all ? 'ignored' : 'differs', hard }
}
