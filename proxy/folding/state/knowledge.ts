import { canonicalJson } from '../../../plugins/canonical.ts'
import { emptyDocument, isOlder, latched, mergedTrips, type StageDocument, type Trips } from './document.ts'

/** What this replica knows: the latest state it has seen, and every trip it has ever heard of. It never forgets a trip. */
export interface Knowledge {
  /** With the latch in force. */
  readonly known: StageDocument
  /** Takes over a state that is not older than what is known, and its trips in any case. */
  adopt(stored: StageDocument): void
  /** Latches some trips, at once. */
  trip(trips: Trips): void
  onChange(listener: (document: StageDocument) => void): () => void
}

/** Makes {@link Knowledge} of a state. */
export function createKnowledge(first: StageDocument = emptyDocument): Knowledge {
  let known = latched(first)
  const listeners = new Set<(document: StageDocument) => void>()
  const become = (next: StageDocument): void => {
    if (next === known || canonicalJson(next) === canonicalJson(known)) return
    known = next
    for (const listener of [...listeners]) listener(known)
  }
  return {
    get known() {
      return known
    },
    adopt(stored) {
      const tripped = mergedTrips(known.tripped, stored.tripped)
      become(latched({ ...(isOlder(stored, known) ? known : stored), tripped }))
    },
    trip(trips) {
      const tripped = mergedTrips(known.tripped, trips)
      if (tripped !== known.tripped) become(latched({ ...known, tripped }))
    },
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
