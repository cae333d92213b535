import type { Call } from '../../plugins/call.ts'
import type { Acting, Layer } from '../../plugins/layer.ts'
import type { Place, Seated } from '../../plugins/stack.ts'
import { isMoving, type LayerStage, type Stage, shareOf } from '../../plugins/stage.ts'
import { isInShare, layerUnits, type Unit, unitOf } from './draw.ts'

/** A layer with its place on one route, and the stage that it hangs on. */
export interface FoldSeat extends Seated {
  readonly stage: Stage
  /** The rollout that moves it; absent where none does. */
  readonly rollout?: string
  /** By what its calls are drawn; undefined while nobody knows. Only of a layer that moves. */
  readonly unitOf?: (call: Call) => string | undefined
  /** Whether the caller has chosen the side of a layer that moves. */
  readonly chosen?: (call: Call) => boolean
}

/** What seats are made from. */
export interface SeatParts {
  /** The layers of the route that are on, outermost first. */
  readonly layers: readonly Layer[]
  readonly acting: ReadonlyMap<string, Acting>
  stageOf(layer: string): LayerStage
  /** Its rule is enforced only in part where it is folded: the gateway keeps checking. */
  isSoft(layer: string): boolean
  /** The request header that names a conversation. */
  readonly conversationHeader: string
  /** Tenants that are never in a canary. */
  readonly never?: ReadonlySet<string>
  /** On which side a caller with the right to choose wants a layer that is in canary; undefined: no wish. */
  override?(call: Call, layer: string): 'gateway' | 'runner' | undefined
}

/** Share of native calls that the gateway half goes on observing. */
const standingShare = 1 / 1_000

/** The seats of one route, from the stages of its layers. Made once a change of stages; what hangs on the call is drawn. */
export function seatsFor(parts: SeatParts): readonly FoldSeat[] {
  const moving = parts.layers.some(({ name }) => parts.stageOf(name).stage === 'canary')
  return parts.layers.map((layer, index): FoldSeat => {
    const standing = parts.stageOf(layer.name)
    const { stage } = standing
    const tells = layer.writes.includes('principal')
    const base = {
      name: layer.name,
      acting: parts.acting.get(layer.name) as Acting,
      stage,
      ...(tells ? { vetoes: true } : {}),
    }
    if (isMoving(standing)) return { ...base, mode: 'enforce', ...movingSeat(layer, standing, parts) }
    if (stage !== 'native') return { ...base, mode: 'enforce' }
    // Who is calling must be known wherever something is drawn by it.
    if ((tells && moving) || parts.isSoft(layer.name)) return { ...base, mode: 'observe' }
    return { ...base, mode: 'away', draw: ({ id }) => (isStanding(id, index) ? 'observe' : 'away') }
  })
}

/** What a layer that moves has beside its seat: the draw, in canary, and what its calls are told apart by. */
function movingSeat(layer: Layer, standing: LayerStage, parts: SeatParts): Partial<FoldSeat> {
  const unit: Unit = layerUnits[layer.name] ?? 'conversation'
  const auth = parts.layers.some(({ writes }) => writes.includes('principal'))
  const units = { header: parts.conversationHeader, auth }
  const unitOfCall = (call: Call): string | undefined => unitOf(call, unit, units)
  const stays = ({ facts }: Call): boolean => parts.never?.has(facts.principal?.tenant ?? '') ?? false
  // Who stays out is no sample of anything, as little as who chooses.
  const wish = (call: Call) => {
    if (standing.stage !== 'canary') return undefined
    return parts.override?.(call, layer.name) ?? (stays(call) ? 'gateway' : undefined)
  }
  const draw = (call: Call): Place | undefined => {
    const wished = wish(call)
    if (wished) return wished === 'runner' ? 'observe' : 'enforce'
    const drawn = unitOfCall(call)
    // Only auth itself is asked before a caller is known, and asked again after it has spoken.
    if (drawn === undefined) return layer.writes.includes('principal') ? undefined : 'enforce'
    // Shares shrink while the state of the stages cannot be reached: what holds now counts.
    const share = shareOf(parts.stageOf(layer.name), call.facts.principal?.tier ?? '')
    return isInShare({ layer: layer.name, salt: standing.salt }, drawn, share) ? 'observe' : 'enforce'
  }
  return {
    ...(standing.rollout === undefined ? {} : { rollout: standing.rollout }),
    ...(standing.stage === 'canary' ? { draw } : {}),
    unitOf: unitOfCall,
    chosen: (call) => wish(call) !== undefined,
  }
}

/** Ids are random hex: each layer looks at digits of its own. */
function isStanding(id: string, index: number): boolean {
  return Number.parseInt(id.slice(index * 4, index * 4 + 4), 16) < standingShare * 65_536
}
