import { type Cleaning, createLane } from './cleaning.ts'
import type { Scanner, Sought } from './scanner.ts'

/** The text fields of one choice, each on a lane of its own. */
export interface Fields {
  /** Takes a piece of a field's text; what may leave. With `last`, all of it. */
  push(field: string, piece: string, last: boolean): string
  /** The end of a field's text: what was held back, and the suffix. */
  close(field: string): string
  /** The fields that have begun and not ended. */
  open(): readonly string[]
  /** The choice is a tool call: no suffix. */
  calls(): void
}

/** The answer itself, and not thoughts about it or a refusal. */
export function isMain(field: string): boolean {
  return field === 'content' || field === 'text'
}

/** Makes {@link Fields}. The suffix is not added to an answer that ends with it already. */
export function createFields(cleaning: Cleaning, onFind: (sought: Sought) => void): Fields {
  const lanes = new Map<string, Scanner>()
  const suffix = cleaning.suffix ?? ''
  let tail = ''
  let called = false
  const laneOf = (field: string): Scanner => {
    let lane = lanes.get(field)
    if (!lane) {
      const plan = isMain(field) && cleaning.keepsContent ? { ...cleaning.plan, watches: [] } : cleaning.plan
      lane = createLane(plan, onFind, isMain(field) ? cleaning.tags : undefined)
      lanes.set(field, lane)
    }
    return lane
  }
  const close = (field: string): string => {
    const rest = lanes.get(field)?.end() ?? ''
    lanes.delete(field)
    if (suffix === '' || called || !isMain(field)) return rest
    return (tail + rest).endsWith(suffix) ? rest : rest + suffix
  }
  return {
    push(field, piece, last) {
      const shown = laneOf(field).push(piece)
      if (suffix !== '' && isMain(field)) tail = (tail + shown).slice(-suffix.length)
      return last ? shown + close(field) : shown
    },
    close,
    open: () => [...lanes.keys()],
    calls() {
      called = true
    },
  }
}
