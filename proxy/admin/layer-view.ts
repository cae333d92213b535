import type { FallbackReason } from '../../plugins/execution-context-fallback.ts'
import type { LayerReport } from '../../plugins/policy-report.ts'
import type { Stage } from '../../plugins/stage.ts'

/** Who executes a layer: in canary the runner for its share of the calls, the gateway for the others. */
export type LayerPlace = 'gateway' | 'runner' | 'gateway+runner' | 'none'

/** Where one layer runs now. */
export interface LayerView {
  readonly name: string
  /** False: not configured, so it does nothing. */
  readonly on: boolean
  readonly stage: Stage
  /** Percentage of units that the runner decides for: the step of a canary, 100 when native, else 0. */
  readonly weight: number
  /** On hold: it is not promoted. */
  readonly held: boolean
  readonly where: LayerPlace
  /** What `layer-status` prints for it. */
  readonly status: string
  /** Routes it applies to. */
  readonly routes: readonly string[]
  /** Why this configuration of it can never leave the gateway; absent where nothing keeps it. */
  readonly stays?: string
  /** The policies that its rule stands in, one a route. */
  readonly policies: readonly PolicyView[]
  /** The runner processes, and whether it can act there; empty where it is off, cannot leave, or no runner executes layers. */
  readonly processes: readonly LayerProcessView[]
}

/** One policy, by the digest that names it. */
export interface PolicyView {
  readonly route: string
  readonly digest: string
  /** Of its canonical form. */
  readonly bytes: number
}

/** Whether a layer can act at one runner process. */
export interface LayerProcessView {
  /** Name of the runner in the configuration. */
  readonly runner: string
  /** Host and port of the process. */
  readonly address: string
  readonly boot?: string
  readonly able: boolean
  /** Why not: the reason that a call would fall back for, and words. */
  readonly reason?: FallbackReason
  readonly why?: string
  /** What became of the layer's rule there; absent while the process has not been given it. The worst, where routes differ. */
  readonly report?: LayerReport
}

/** What one layer does, for `explain LAYER`. */
export interface LayerStory extends LayerView {
  readonly reads: readonly string[]
  readonly writes: readonly string[]
  readonly answers: boolean
  readonly rewrites: boolean
  /** Its settings as in use, redacted; undefined when it is off. */
  readonly config: unknown
  /** Why it may or may not move to the runner as the stages are now, in words. */
  readonly foldable: string
}
