import type { LocalFuse, PlaceCounts } from './evidence-counts.ts'

/** What is wrong with single places, and whether that is enough to blame the layer. */
export interface PlacesFound {
  /** `gateway NAME` or `runner NAME`, to be taken out at once. */
  readonly eject: readonly string[]
  /** It is the layer, not a place; undefined: it is not. */
  readonly layer?: string
}

/** More than this share of the canary's calls on places that are out is the layer. */
const mostEjected = 0.2

/**
 * From single places to the layer (`canary.md` §3.6): two places of a kind, the only one of a kind, or places with more than 20 % of the
 * canary's calls.
 */
export function placesFound(places: readonly PlaceCounts[], isOut: (place: PlaceCounts) => boolean): PlacesFound {
  const out = places.filter(isOut)
  const eject = out.map(({ kind, id }) => `${kind} ${id}`)
  for (const kind of ['gateway', 'runner'] as const) {
    const [all, bad] = [places, out].map((some) => some.filter((place) => place.kind === kind)) as [
      PlaceCounts[],
      PlaceCounts[],
    ]
    if (bad.length === 0) continue
    const share = ended(bad) / Math.max(1, ended(all))
    const names = bad.map(({ id }) => id).join(', ')
    if (all.length === 1) return { eject, layer: `the only ${kind} ${names}` }
    if (bad.length > 1) return { eject, layer: `${bad.length} of ${all.length} ${kind}s: ${names}` }
    if (share > mostEjected) return { eject, layer: `${kind} ${names} with ${Math.round(100 * share)} % of the calls` }
  }
  return { eject }
}

/** Whether a place has blown a fuse of its own. */
export function hasBlown(fuse: LocalFuse): (place: PlaceCounts) => boolean {
  return ({ blown }) => blown.includes(fuse)
}

/** Whether at least three calls wait there for a first byte for longer than `stuckMs`. */
export function isStuck(stuckMs: number): (place: PlaceCounts) => boolean {
  return ({ waitingMs }) => waitingMs.filter((ms) => ms > stuckMs).length >= 3
}

const ended = (places: readonly PlaceCounts[]): number => places.reduce((sum, place) => sum + place.ended, 0)
