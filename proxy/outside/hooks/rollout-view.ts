import type { LayerStage } from '../../../plugins/stage.ts'

/** What the evidence says of a layer that is out: nothing is concluded from too little of it. */
export type Verdict = 'pass' | 'fail' | 'inconclusive'

/** One layer, as tools outside ask about it. */
export interface RolloutView extends LayerStage {
  readonly layer: string
  readonly held: boolean
  readonly verdict: Verdict
  /** In words, with the figures: `812 of 930 calls seen`. */
  readonly why: string
  /** Calls of the canary's arm that ended. */
  readonly samples: number
  /** How many of them this stage needs. */
  readonly needed: number
  readonly bad: number
  /** Answers compared, and those that differed. */
  readonly compared: number
  readonly different: number
  /** Since the newest call that counted, in milliseconds; null: there was none. */
  readonly evidenceAgeMs: number | null
  /** When it was last rolled back, in milliseconds since the epoch; null: never. */
  readonly rolledBackAt: number | null
}

/** Everything that tools outside ask about. */
export interface RolloutsView {
  /** Milliseconds since the epoch. */
  readonly now: number
  /** Nothing is promoted while somebody has frozen it. */
  readonly frozen: boolean
  /** Layers that are configured. */
  readonly layers: readonly RolloutView[]
}
