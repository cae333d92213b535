import { type Arm, type RolloutStep, type UnitEvent, type UnitMark, unitEvents } from '../evidence-counts.ts'
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
  /** A unit was seen, and perhaps something happened to it. */
  mark(unit: MarkedUnit, event?: UnitEvent): void
  list(): UnitMark[]
}

/** Makes {@link UnitMarks}: at most 4,096. */
export function createUnitMarks(overflow: Overflow): UnitMarks {
  const groups = new Map<string, Map<string, Mark>>()
  let size = 0
  let below = 2 ** 32
  const groupOf = ({ step, tier, arm }: MarkedUnit): Map<string, Mark> => {
    const key = `${step} ${arm} ${tier}`
    const group = groups.get(key) ?? new Map<string, Mark>()
    groups.set(key, group)
    return group
  }
  return {
    sample(share) {
      below = share * 2 ** 32
    },
    mark(call, event) {
      const { step, tier, arm, unit, tenant } = call
      if (below < 2 ** 32 && Number.parseInt(unit.slice(0, 8), 16) >= below) return
      const group = groupOf(call)
      const key = unit === tenant ? unit : `${unit} ${tenant}`
      let mark = group.get(key)
      if (!mark) {
        if (size >= most.marks) {
          overflow.add('marks')
          return
        }
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

type Mark = MarkedUnit & { events: number }
