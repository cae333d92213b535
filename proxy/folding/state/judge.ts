import { isMoving } from '../../../plugins/stage.ts'
import {
  emptyDocument,
  isOlder,
  isOut,
  type Layers,
  latched,
  type Notes,
  notesAfter,
  type StageDocument,
  type Trips,
} from './document.ts'
import type { Transition, TransitionResult } from './state.ts'

/** What a change may be refused with. */
export type Refused = Exclude<TransitionResult, 'done' | 'unavailable'>

/** What of a change is judged. */
export type Judged = Pick<Transition, 'expectedRev' | 'fence' | 'layers'>

/**
 * Why a change cannot follow on a state; undefined when it can. `fence` is the one that was given out last: only it counts, so that one
 * from before a store lost its memory is as void as one that is too old.
 */
export function refusalOf(document: StageDocument, fence: number, change: Judged): Refused | undefined {
  if (change.fence !== fence) return 'fenced'
  if (change.expectedRev !== document.rev) return 'stale'
  const layers = Object.entries(change.layers)
  if (layers.some(([name, { gen }]) => gen < genOf(document.layers, name))) return 'stale'
  if (layers.some(([, layer]) => isOut(layer) && Object.hasOwn(document.tripped, layer.rolloutId))) return 'tripped'
  return layers.filter(([, layer]) => isMoving(layer)).length > 1 ? 'second-layer' : undefined
}

function genOf(layers: Layers, name: string): number {
  return Object.hasOwn(layers, name) ? (layers[name]?.gen ?? 0) : 0
}

/** The state after a change that was not refused; `at` stands for a `startedAt` of 0. */
export function movedTo(
  document: StageDocument,
  change: Pick<Transition, 'layers' | 'hold' | 'notes'>,
  at: number,
): StageDocument {
  const layers = Object.entries(change.layers).map(([name, layer]) => [
    name,
    layer.startedAt === 0 ? { ...layer, startedAt: at } : layer,
  ])
  const notes = change.notes ? notesAfter(document.notes, change.notes, false) : document.notes
  return {
    rev: document.rev + 1,
    hold: change.hold ?? document.hold,
    layers: Object.fromEntries(layers),
    tripped: document.tripped,
    ...(notes ? { notes } : {}),
  }
}

/** The state with some notes changed; the same object when that is no news. */
export function notedIn(document: StageDocument, change: Notes, keeps: boolean): StageDocument {
  const notes = notesAfter(document.notes, change, keeps)
  if (notes === document.notes) return document
  return { ...document, rev: document.rev + 1, ...(notes ? { notes } : {}) }
}

/** The state after some trips; the same object when all of them were known. */
export function trippedBy(document: StageDocument, trips: Trips): StageDocument {
  const fresh = Object.keys(trips).some((id) => !Object.hasOwn(document.tripped, id))
  if (!fresh) return document
  return latched({ ...document, rev: document.rev + 1, tripped: { ...trips, ...document.tripped } })
}

/**
 * The state after a replica brought back what it knows; the same object when nothing had been lost. A store that came back empty is held
 * until a person has looked: nobody knows what else is gone.
 */
export function restoredTo(stored: StageDocument | undefined, known: StageDocument): StageDocument {
  const document = stored ?? emptyDocument
  if (!isOlder(document, known)) return document
  const rev = known.rev > document.rev ? known.rev : document.rev + 1
  const tripped = { ...document.tripped, ...known.tripped }
  if (stored) return latched({ ...known, rev, tripped })
  return latched({ ...known, rev: rev + 1, hold: known.hold || cameBackEmpty, tripped })
}

/** Why nothing is promoted after a store lost everything. */
export const cameBackEmpty = 'the store came back empty; what the replicas knew was brought back'
