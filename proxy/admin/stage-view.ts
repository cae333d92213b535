import type { StageVerb } from '../folding/stage-plan.ts'
import type { LayerView } from './layer-view.ts'

/** One change of one layer, in words. */
export interface ChangeView {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly layer: string
  /** Such as `gateway`, `canary 10 %`, `shadow, held`. */
  readonly from: string
  readonly to: string
  readonly actor: string
  readonly reason: string
}

/** What came of a change that was asked for. */
export interface StageOutcome {
  readonly verb: StageVerb
  /** What it was asked of; absent for all layers. */
  readonly layer?: string
  /** Raised by every change. */
  readonly version: number
  /** What changed; empty when everything was so already. A rollback may take other layers along. */
  readonly changes: readonly ChangeView[]
  /** What is wrong with where layers stand now, in words. */
  readonly warnings: readonly string[]
  /** Every layer, as it stands now. */
  readonly layers: readonly LayerView[]
  /** Of a rollback: how many replicas have taken it over, of how many, and who has not said so yet. */
  readonly confirmed?: { readonly confirmed: number; readonly of: number; readonly missing: readonly string[] }
  /** Of a rollback of all that also asked for the runner's Deployment: whether it was undone, in words. */
  readonly kubernetes?: { readonly done: boolean; readonly words: string }
}
