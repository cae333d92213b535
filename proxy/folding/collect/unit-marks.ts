import { type Arm, type RolloutStep, type UnitEvent, type UnitMark, unitEvents } from '../rollout/evidence-counts.ts'
import { most, type Overflow } from './overflow.ts'

/** Who is marked. */
export interface MarkedUnit {
  readonly step: RolloutStep
  readonly tier: string
  readonly arm: Arm
  readonly unit: string
  readonly tenant: string
}

/** The units of a rollout that one process has seen, and what happened to each at least once. */
export interface UnitMarks {
  /** Only units with a hash below this share are marked from now on, 0 to 1. Default 1. */
  sample(share: number): void
  /** The share of units that is marked now. */
  readonly share: number
  /** A unit was seen, and perhaps something happened to it. */
  mark(unit: MarkedUnit, event?: UnitEvent): void
  list(): UnitMark[]
}

/**
 * Makes {@link UnitMarks}: at most 4,096. Where there are more units, half as many are marked from then on, by their hash, and the others
 * forgotten: what is left is a fair sample, as the hash knows nothing of what happened.
 */
export function createUnitMarks(overflow: Overflow): UnitMarks {
  const groups = new Map<string, Map<string, Mark>>()
  let size = 0
  let below = whole
  const halve = (): void => {
    below /= 2
    for (const group of groups.values())
      for (const [key, { unit }] of group) if (!isSampled(unit, below / whole) && group.delete(key)) size--
  }
  const groupOf = ({ step, tier, arm }: MarkedUnit): Map<string, Mark> => {
    const key = `${step} ${arm} ${tier}`
    const group = groups.get(key) ?? new Map<string, Mark>()
    groups.set(key, group)
    return group
  }
  return {
    get share() {
      return below / whole
    },
    sample(share) {
      below = Math.min(below, share * whole)
    },
    mark(call, event) {
      const { step, tier, arm, unit, tenant } = call
      if (!isSampled(unit, below / whole)) return
      const group = groupOf(call)
      const key = unit === tenant ? unit : `${unit} ${tenant}`
      let mark = group.get(key)
      if (!mark) {
        while (size >= most.marks && below > fewest) halve()
        if (size >= most.marks) overflow.add('marks')
        if (size >= most.marks || !isSampled(unit, below / whole)) return
        size++
        mark = { step, tier, arm, unit, tenant, events: 0 }
        group.set(key, mark)
      }
      if (event) mark.events |= 1 << unitEvents.indexOf(event)
    },
    list: () =>
      [...groups.values()].flatMap((group) =>
        [...group.values()].map((mark) => ({
          ...mark,
          events: unitEvents.filter((_, index) => (mark.events & (1 << index)) > 0),
        })),
      ),
  }
}

/** Whether a unit is among those marked when this share of them is, 0 to 1: by its hash, the same everywhere. */
export function isSampled(unit: string, share: number): boolean {
  return share >= 1 || !(Number.parseInt(unit.slice(0, 8), 16) >= share * whole)
}

const whole = 2 ** 32
/** A share of one in a million is no sample any more. */
const fewest = whole / 1_000_000

type Mark = MarkedUnit & { events: number }
