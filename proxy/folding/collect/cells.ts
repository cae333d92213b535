import type { FallbackReason } from '../../../plugins/execution-context-fallback.ts'
import {
  type AnswerCount,
  type Arm,
  type ArmCounts,
  type Cell,
  noCounts,
  type RolloutStep,
} from '../rollout/evidence-counts.ts'
import { most, type Overflow } from './overflow.ts'

/** {@link ArmCounts} that are still counted. */
export type Counting = { -readonly [Name in Exclude<keyof ArmCounts, 'fallbacks' | 'answers'>]: number } & {
  readonly fallbacks: Partial<Record<FallbackReason, number>>
  readonly answers: Partial<Record<AnswerCount, number>>
}

/** Which counts a call belongs to. */
export interface CellPlace {
  readonly step: RolloutStep
  readonly tier: string
  readonly arm: Arm
  /** When the call began, in milliseconds since the epoch: every count of a call falls into one window. */
  readonly startedAt: number
}

/** The counts of a rollout in one process, by step, tier and window. */
export interface Cells {
  /** A step begins, perhaps anew: its first window begins with it. Calls that began before `since` on the clock here are none of it. */
  begin(step: RolloutStep, run: StepRun): void
  /** Like {@link begin}, from a call of the step: nothing happens where a run as young is known. */
  hear(step: RolloutStep, run: StepRun): void
  at(place: CellPlace): Counting
  list(): Cell[]
}

/** When a step began, as all are told, and when on the clock of this process; in milliseconds since the epoch. */
export interface StepRun {
  readonly startedAt: number
  readonly since: number
}

type OpenCell = Omit<Cell, 'canary' | 'control'> & Readonly<Record<Arm, Counting>>

/** One window, in milliseconds. */
export const windowMs = 300_000
/** What old windows are put together to when there are too many: hours, then days. Both arms stay beside one another. */
const coarser = [3_600_000, 86_400_000]
/** Tiers beyond the most that are kept are one. */
const otherTier = 'other'

/** Makes {@link Cells}. Tiers beyond 16 are counted as one; beyond 1,024 cells old windows are put together. */
export function createCells(overflow: Overflow): Cells {
  let cells = new Map<string, OpenCell>()
  // Calls come in bursts of the same kind: the last cell is mostly the next one.
  let last: OpenCell | undefined
  const runs = new Map<RolloutStep, StepRun>()
  const tiers = new Set<string>()
  const tierOf = (tier: string): string => {
    if (tiers.has(tier)) return tier
    if (tiers.size < most.tiers) {
      tiers.add(tier)
      return tier
    }
    overflow.add('tiers')
    return otherTier
  }
  const windowOf = (step: RolloutStep, startedAt: number): number => {
    const window = Math.floor(startedAt / windowMs) * windowMs
    const run = runs.get(step)
    return run && startedAt >= run.since && window < run.startedAt ? run.startedAt : window
  }
  return {
    begin(step, run) {
      runs.set(step, run)
    },
    hear(step, run) {
      const known = runs.get(step)
      if (!known || run.startedAt > known.startedAt) runs.set(step, run)
    },
    at({ step, tier, arm, startedAt }) {
      const window = windowOf(step, startedAt)
      if (last?.window === window && last.step === step && last.tier === tier) return last[arm]
      const named = tierOf(tier)
      const key = `${window} ${step} ${named}`
      const found = cells.get(key)
      if (found) {
        last = found
        return found[arm]
      }
      if (cells.size >= most.cells) {
        overflow.add('cells')
        cells = thinned(cells, window, runs)
        last = undefined
      }
      const cell: OpenCell = { step, tier: named, window, canary: opened(), control: opened() }
      cells.set(key, cell)
      return cell[arm]
    },
    list: () =>
      [...cells.values()].map((cell) => ({ ...cell, canary: copied(cell.canary), control: copied(cell.control) })),
  }
}

const opened = (): Counting => ({ ...noCounts, fallbacks: {}, answers: {} })
const copied = (counts: Counting): ArmCounts => ({
  ...counts,
  fallbacks: { ...counts.fallbacks },
  answers: { ...counts.answers },
})

/** Old windows put together, until a quarter of the room is free. */
function thinned(
  cells: ReadonlyMap<string, OpenCell>,
  newest: number,
  runs: ReadonlyMap<RolloutStep, StepRun>,
): Map<string, OpenCell> {
  let thin = new Map(cells)
  for (const width of coarser) {
    const wide = new Map<string, OpenCell>()
    for (const cell of thin.values()) {
      const old = cell.window < newest - 2 * width
      const window = old ? coarse(cell, width, runs.get(cell.step)) : cell.window
      const key = `${window} ${cell.step} ${cell.tier}`
      const there = wide.get(key)
      if (there) addTo(there, cell)
      else wide.set(key, { ...cell, window })
    }
    thin = wide
    if (thin.size <= 0.75 * most.cells) break
  }
  return thin
}

/** Nothing of before a step began, or began anew, comes together with what came after. */
function coarse({ window }: OpenCell, width: number, run: StepRun | undefined): number {
  const wide = Math.floor(window / width) * width
  return run && window >= run.startedAt ? Math.max(wide, run.startedAt) : wide
}

function addTo(sum: OpenCell, cell: OpenCell): void {
  for (const arm of ['canary', 'control'] as const) {
    const { fallbacks, answers, ...numbers } = cell[arm]
    for (const name of Object.keys(numbers) as (keyof typeof numbers)[]) sum[arm][name] += numbers[name]
    for (const [reason, count] of Object.entries(fallbacks)) addReason(sum[arm], reason as FallbackReason, count)
    for (const [name, count] of Object.entries(answers)) addAnswer(sum[arm], name as AnswerCount, count)
  }
}

/** Counts something of an answer. */
export function addAnswer({ answers }: Counting, name: AnswerCount, count = 1): void {
  answers[name] = (answers[name] ?? 0) + count
}

/** Counts fallbacks of a reason. */
export function addReason({ fallbacks }: Counting, reason: FallbackReason, count = 1): void {
  fallbacks[reason] = (fallbacks[reason] ?? 0) + count
}
