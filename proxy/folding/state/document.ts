import type { Stage } from '../../../plugins/stage.ts'

/** Where one layer is, and by which rollout it came there. Holds no arrays and no nulls: Lua keeps neither apart from an empty object. */
export interface LayerState {
  readonly stage: Stage
  /** In canary: the share of each tier that the runner decides for, in basis points (0 to 10,000). A tier that is not named has 0. */
  readonly weights: Readonly<Record<string, number>>
  /** The rollout, a ULID; empty before the first one. A new rollout has a new one, and a tripped one never comes back. */
  readonly rolloutId: string
  /** Which rollout of this layer it is, counted from 1; never goes back. */
  readonly gen: number
  /** What units are drawn with; the same for a whole rollout. */
  readonly salt: string
  /** Digest of the constants and rules that the rollout is judged by. */
  readonly cfgHash: string
  /** Digest of what is rolled out. */
  readonly artifactDigest: string
  /** When it came to this stage, in milliseconds since the epoch. 0 in a change: now, by the clock of the store. */
  readonly startedAt: number
  /** Held layers are not promoted. */
  readonly held: boolean
  /** Why it is where it is, and who said so. */
  readonly reason: string
  readonly actor: string
}

/** A rollout that was taken back: for good. */
export interface Trip {
  readonly layer: string
  readonly gen: number
  readonly reason: string
  readonly actor: string
  /** Milliseconds since the epoch, by the clock of whoever tripped it. */
  readonly at: number
}

/** Trips by the id of their rollout. Only ever grows: some 200 bytes each. */
export type Trips = Readonly<Record<string, Trip>>

/** Where all layers are by name. */
export type Layers = Readonly<Record<string, LayerState>>

/** The state of all rollouts, as every replica has to know it. */
export interface StageDocument {
  /** Raised by every change. 0: nothing was ever written. */
  readonly rev: number
  /** Why nothing is promoted until a person has looked: what was known had been lost. Empty: no reason. */
  readonly hold: string
  readonly layers: Layers
  readonly tripped: Trips
  /** Short texts by name that everybody is to know beside where layers are, such as `freeze`. Absent where nothing was ever noted. */
  readonly notes?: Notes
}

/** Texts by name. */
export type Notes = Readonly<Record<string, string>>

/** What is known before anything was ever written. */
export const emptyDocument: StageDocument = { rev: 0, hold: '', layers: {}, tripped: {} }

/** Basis points of a layer that is native, or of a tier that is wholly in the share. */
export const wholeWeight = 10_000

/** Notes after a change of some: an empty text takes one away. With `keeps`, a text that is there already stays. The same object when nothing changes. */
export function notesAfter(notes: Notes | undefined, change: Notes, keeps: boolean): Notes | undefined {
  const next = new Map(Object.entries(notes ?? {}))
  for (const [name, text] of Object.entries(change)) {
    if (text === '') next.delete(name)
    else if (!keeps || !next.has(name)) next.set(name, text)
  }
  const same =
    next.size === Object.keys(notes ?? {}).length && [...next].every(([name, text]) => notes?.[name] === text)
  return same ? notes : Object.fromEntries(next)
}

/** Whether the runner has any part in a layer: it moves, or it is native. */
export function isOut({ stage }: Pick<LayerState, 'stage'>): boolean {
  return stage === 'shadow' || stage === 'canary' || stage === 'native'
}

/** The document with its latch in force: no layer is out by a rollout that was tripped, whatever was written. */
export function latched(document: StageDocument): StageDocument {
  const layers = latchedLayers(document.layers, document.tripped)
  return layers === document.layers ? document : { ...document, layers }
}

/** The same for layers and trips of different origin; the same object when nothing changes. */
export function latchedLayers(layers: Layers, tripped: Trips): Layers {
  const back = Object.entries(layers).filter(([, layer]) => isOut(layer) && Object.hasOwn(tripped, layer.rolloutId))
  if (back.length === 0) return layers
  return { ...layers, ...Object.fromEntries(back.map(([name, layer]) => [name, rolledBack(layer, tripped)])) }
}

function rolledBack(layer: LayerState, tripped: Trips): LayerState {
  const { reason, actor, at } = tripped[layer.rolloutId] as Trip
  return { ...layer, stage: 'rolled-back', weights: {}, held: false, reason, actor, startedAt: at }
}

/** Both sets of trips; where both know one, the earlier word stays, so that any order gives the same. */
export function mergedTrips(some: Trips, others: Trips): Trips {
  const fresh = Object.entries(others).filter(([id, trip]) => !Object.hasOwn(some, id) || goesBefore(trip, some[id]))
  return fresh.length === 0 ? some : { ...some, ...Object.fromEntries(fresh) }
}

function goesBefore(trip: Trip, known: Trip | undefined): boolean {
  if (!known || trip.at !== known.at) return trip.at < (known?.at ?? 0)
  return wordsOf(trip) < wordsOf(known)
}

const wordsOf = ({ actor, reason }: Trip): string => `${actor}\n${reason}`

/** The trips of the first that the second does not have. */
export function missingTrips(known: Trips, elsewhere: Trips): Trips {
  return Object.fromEntries(Object.entries(known).filter(([id]) => !Object.hasOwn(elsewhere, id)))
}

/** Whether something was lost from `stored`: it is of an earlier revision, or of an earlier rollout of a layer and of no later one. */
export function isOlder(stored: StageDocument, known: StageDocument): boolean {
  if (stored.rev < known.rev) return true
  const gens = Object.entries(known.layers).map(([name, { gen }]) => gen - (stored.layers[name]?.gen ?? 0))
  return gens.some((ahead) => ahead > 0) && !gens.some((ahead) => ahead < 0)
}

/** Which layers differ, from what to what; `from` is absent for a layer that was not there, `to` for one that is gone. */
export type LayerChanges = Readonly<Record<string, { readonly from?: LayerState; readonly to?: LayerState }>>

/** What became of the layers between two states. */
export function changesBetween(before: Layers, after: Layers): LayerChanges {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()
  const changed = names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
  return Object.fromEntries(
    changed.map((name) => {
      const [from, to] = [before[name], after[name]]
      return [name, { ...(from ? { from } : {}), ...(to ? { to } : {}) }]
    }),
  )
}
