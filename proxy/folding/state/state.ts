import type { JsonObject } from '../../../plugins/jws-json.ts'
import type { ChangedBy } from '../stages.ts'
import type { LayerChanges, Layers, Notes, StageDocument } from './document.ts'

/** The shared state of rollouts: one process of its own, Redis, or replicas among themselves. */
export interface RolloutState {
  /** The last state known here, with the latch in force. At once: never asks anybody. */
  readonly known: StageDocument
  /** The listener hears every newer state; what is given back ends that. */
  onChange(listener: (document: StageDocument) => void): () => void
  /** Moves layers, whole or not at all, if the caller still leads and nobody was faster. Never throws. */
  transition(change: Transition): Promise<TransitionResult>
  /**
   * Notes something for everybody, if that is news. Whoever leads or not: only among replicas without a store it takes the leader. Never
   * throws.
   */
  note(change: NoteRequest): Promise<NoteResult>
  /**
   * Takes a rollout back for good. Any replica may, at any time, as often as it likes; it holds here before this returns its promise,
   * whoever can be reached, and is told to the others until they have it. Never throws.
   */
  trip(trip: TripRequest): Promise<TripOutcome>
  /** Takes this replica's counters for a rollout and stage: cumulative since the start of the process, so that telling twice changes nothing. */
  publish(rolloutId: string, stage: string, counters: JsonObject): void
  /** Everybody's counters, the latest of each process. Throws `store_lost` when they cannot be had. */
  collect(rolloutId: string, stage: string): Promise<readonly Counted[]>
  /** Whether this replica leads now, and with which fence. At once. */
  lead(): Leading | undefined
  readonly condition: Condition
  /** The replicas that are believed to be there, this one included. At once: what is said of others may be a round old. */
  replicas(): readonly SeenReplica[]
  /** The latest changes, oldest first. Empty when they cannot be had. */
  history(limit: number): Promise<readonly StageChangeRecord[]>
  close(): Promise<void>
}

/** The right to move layers: only changes with the fence that was given out last are taken. */
export interface Leading {
  readonly fence: number
}

/** A change of where layers are. */
export interface Transition extends Leading {
  /** The revision that it was decided on. */
  readonly expectedRev: number
  /** All layers as they shall be. */
  readonly layers: Layers
  /** As in {@link StageDocument}; a change of a person may clear it. Default: stays as it is. */
  readonly hold?: string
  readonly by: ChangedBy
  /** What the decision was made from, for the record. */
  readonly evidence?: unknown
  /** Notes that change with it, and what history says of that, as in {@link NoteRequest}. */
  readonly notes?: Notes
  readonly told?: Told
}

/** What is to be noted. */
export interface NoteRequest {
  /** An empty text takes a note away. */
  readonly notes: Notes
  /** A text that is there already stays. */
  readonly keeps?: boolean
  readonly by: ChangedBy
  /** What history says of it; absent: nothing. */
  readonly told?: Told
}

/** What history says of something that moves no layer. */
export interface Told {
  /** The layer that it is about; `*` for all. */
  readonly layer: string
  /** In words. */
  readonly from: string
  readonly to: string
}

/** What became of a note. `known`: it was so already. The rest as in {@link TransitionResult}. */
export type NoteResult = 'done' | 'known' | 'fenced' | 'stale' | 'unavailable'

/**
 * What became of a change. `stale`: another revision is in force, or a layer would go back to an earlier rollout. `fenced`: another
 * leads. `tripped`: a rollout of it was taken back. `second-layer`: two would be in motion. `unavailable`: nobody can be asked, or
 * nobody knows whether it was taken; `known` will tell.
 */
export type TransitionResult = 'done' | 'stale' | 'fenced' | 'tripped' | 'second-layer' | 'unavailable'

/** What is to be taken back, and why. */
export interface TripRequest {
  readonly rolloutId: string
  readonly gen: number
  readonly layer: string
  readonly reason: string
  readonly evidence?: unknown
  /** Default: this replica, with the reason above. */
  readonly by?: ChangedBy
}

/** Who has taken a trip over so far, this replica included. */
export interface TripOutcome {
  readonly confirmed: number
  /** How many replicas are known. */
  readonly of: number
  /** Those that have not said so yet, by name or address. They are told again until they have. */
  readonly missing: readonly string[]
}

/** The counters of one process. */
export interface Counted {
  readonly replica: string
  /** Of one run of a replica: one that starts anew counts anew. */
  readonly boot: string
  readonly counters: JsonObject
}

/** A replica, as it was last heard. */
export interface SeenReplica {
  /** Its name, or where it is while that is not known. */
  readonly name: string
  /** It knows what this one knows. */
  readonly agrees: boolean
}

/** How the way to the others is. `slow`: answers take more than 50 ms. `lostForMs`: nobody answered for so long. */
export type Condition = 'up' | 'slow' | { readonly lostForMs: number }

/** One change, as it was recorded. */
export interface StageChangeRecord {
  /** Milliseconds since the epoch, by the clock of the store. */
  readonly at: number
  /** The revision that it made. */
  readonly rev: number
  /** `restore`: a replica brought back what the store had lost. */
  readonly kind: 'transition' | 'trip' | 'restore' | 'note'
  readonly by: ChangedBy
  /** The replica that asked for it. */
  readonly replica: string
  readonly layers: LayerChanges
  readonly evidence?: unknown
  readonly told?: Told
}
