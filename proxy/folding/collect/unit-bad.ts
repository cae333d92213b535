import { type Arm, mostBadOfUnit, type RolloutStep } from '../rollout/evidence-counts.ts'
import { most } from './overflow.ts'

/** How often units were bad in a step, as far as it matters. */
export interface UnitBad {
  /** A step begins, perhaps anew. Told again, nothing happens. */
  begin(start: { readonly step: RolloutStep; readonly startedAt: number }): void
  /** A unit was bad once more: whether it still counts. */
  counts(arm: Arm, unit: string): boolean
}

/** Makes {@link UnitBad}. Of more than 4,096 units all count: then no few of them make the rate. */
export function createUnitBad(): UnitBad {
  const times = new Map<string, number>()
  let begun = ''
  return {
    begin({ step, startedAt }) {
      const key = `${step} ${startedAt}`
      if (key === begun) return
      begun = key
      times.clear()
    },
    counts(arm, unit) {
      const key = `${arm} ${unit}`
      const before = times.get(key)
      if (before === undefined && times.size >= most.marks) return true
      times.set(key, (before ?? 0) + 1)
      return (before ?? 0) < mostBadOfUnit
    },
  }
}
