import type { ChangedBy } from '../stages.ts'
import type { Trips } from './document.ts'
import type { Recorded } from './log.ts'
import type { TripRequest } from './state.ts'

/** A request as what it latches; `replica` is who asks, where nobody else is named. */
export function tripsFromRequest(request: TripRequest, replica: string, nowMs: number): Trips {
  const { rolloutId, layer, gen } = request
  const { actor, reason } = tripper(request, replica)
  return { [rolloutId]: { layer, gen, reason, actor, at: Math.floor(nowMs) } }
}

/** A request as it is recorded. */
export function recordOfTrip(request: TripRequest, replica: string): Recorded {
  return { by: tripper(request, replica), replica, ...evidenceOf(request) }
}

/** The evidence of a request as a member, where there is some. */
export function evidenceOf({ evidence }: { readonly evidence?: unknown }): { evidence?: unknown } {
  return evidence === undefined ? {} : { evidence }
}

function tripper({ by, reason }: TripRequest, replica: string): ChangedBy {
  return by ?? { actor: `replica ${replica}`, reason }
}
