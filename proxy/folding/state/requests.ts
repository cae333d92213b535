import type { ChangedBy } from '../stages.ts'
import { changesBetween, type StageDocument, type Trips } from './document.ts'
import type { Recorded } from './log.ts'
import type { NoteRequest, Transition, TripRequest } from './state.ts'

/** A request as what it latches; `replica` is who asks, where nobody else is named. */
export function tripsFromRequest(request: TripRequest, replica: string, nowMs: number): Trips {
  const { rolloutId, layer, gen } = request
  const { actor, reason } = tripper(request, replica)
  return {
    [rolloutId]: { layer, gen, reason: reason.slice(0, 500), actor: actor.slice(0, 100), at: Math.floor(nowMs) },
  }
}

/** A request as it is recorded. */
export function recordOfTrip(request: TripRequest, replica: string): Recorded {
  return { by: tripper(request, replica), replica, ...evidenceOf(request) }
}

/** A change as it is recorded. */
export function recordOfTransition(change: Transition, replica: string): Recorded {
  return { by: change.by, replica, ...evidenceOf(change), ...(change.told ? { told: change.told } : {}) }
}

/** A note as the script takes it. */
export function wordsOfNote({ notes, keeps, by, told }: NoteRequest, replica: string): string[] {
  const said: Recorded = { by, replica, ...(told ? { told } : {}) }
  return [JSON.stringify(notes), keeps ? '1' : '0', JSON.stringify(said)]
}

/** A change as the script takes it; `known` is what it was decided on. */
export function wordsOfTransition(change: Transition, known: StageDocument, replica: string): string[] {
  return [
    String(change.expectedRev),
    String(change.fence),
    JSON.stringify(change.layers),
    change.hold === undefined ? '0' : '1',
    change.hold ?? '',
    JSON.stringify(changesBetween(known.layers, change.layers)),
    JSON.stringify(recordOfTransition(change, replica)),
  ]
}

function evidenceOf({ evidence }: { readonly evidence?: unknown }): { evidence?: unknown } {
  return evidence === undefined ? {} : { evidence }
}

function tripper({ by, reason }: TripRequest, replica: string): ChangedBy {
  return by ?? { actor: `replica ${replica}`, reason }
}
