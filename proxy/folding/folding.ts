import type { Call } from '../../plugins/call.ts'
import type { Route } from '../../plugins/chat.ts'
import type { Acting, Layer } from '../../plugins/layer.ts'
import type { LayerStage } from '../../plugins/stage.ts'
import type { FoldSeat, SeatParts } from './seats.ts'
import { seatsFor } from './seats.ts'

/** The layers that sit for one route, as the stages are now. */
export interface Seating {
  readonly seats: readonly FoldSeat[]
  /** A layer that sits here reads usage. */
  readonly meters: boolean
  /** Members of a request that a layer which decides here holds answers to by itself. */
  readonly enforces: readonly string[]
  /** Some layer of the route acts at the runner. */
  readonly folded: boolean
}

/** What seatings are made from. */
export interface SeatingParts extends Omit<SeatParts, 'layers'> {
  readonly layers: readonly Layer[]
  readonly acting: ReadonlyMap<string, Acting>
  /** Raised whenever a stage, or what is soft, has changed. */
  version(): number
}

const routes: readonly Route[] = ['chat', 'completions', 'messages', 'embeddings', 'models', 'passthrough']
// What the runner is never asked about: lists and strange paths.
const neverFolded: ReadonlySet<Route> = new Set(['models', 'passthrough'])
const inGateway: LayerStage = { stage: 'gateway', weight: 0 }

/** Finds the seating of a route; worked out anew only after a change of stages. */
export function createSeatings(parts: SeatingParts): (route: Route) => Seating {
  let known = new Map<Route, Seating>()
  let version = Number.NaN
  return (route) => {
    if (parts.version() !== version) {
      version = parts.version()
      known = new Map(routes.map((each) => [each, seatingOf(each, parts)]))
    }
    return known.get(route) as Seating
  }
}

function seatingOf(route: Route, parts: SeatingParts): Seating {
  const here = parts.layers.filter((layer) => parts.acting.has(layer.name) && layer.routes.includes(route))
  const stageOf = neverFolded.has(route) ? () => inGateway : parts.stageOf
  const seats = seatsFor({ ...parts, layers: here, stageOf })
  const decides = here.filter((_, index) => seats[index]?.mode !== 'away')
  return {
    seats,
    meters: decides.some((layer) => layer.meters),
    enforces: decides.flatMap((layer) => layer.enforces ?? []),
    folded: seats.some(({ stage }) => stage !== 'gateway' && stage !== 'rolled-back'),
  }
}

/** On which side a caller wants a layer, from the header `foldgate-override` (`prompt=runner, cache=gateway`); undefined: no wish. */
export function overrideOf(call: Call, header: string, layer: string): 'gateway' | 'runner' | undefined {
  for (const wish of (call.headers[header] ?? '').split(',')) {
    const [name, side] = wish.split('=').map((each) => each.trim())
    if (name === layer && (side === 'gateway' || side === 'runner')) return side
  }
  return undefined
}
