import type { RecentView } from '../../telemetry/recent-view.ts'
import type { LayerPlace } from '../layer-view.ts'
import type { Actor, ReplicasView } from '../operations.ts'

/** Everything that the on-call page shows at one instant. The page takes it as it is: no event depends on an earlier one. */
export interface PageSnapshot {
  /** Milliseconds since the epoch, by the gateway's clock. */
  readonly at: number
  readonly gateway: PageGateway
  /** What callers have noticed within the last hour, of this replica. */
  readonly load: RecentView
  /** What to look at, worst first. */
  readonly findings: readonly Finding[]
  /** The seats of a layer in words, from the gateway to the runner: `gateway`, `shadow`, `1 %`, …, `native`. */
  readonly stops: readonly string[]
  /** Every layer, in the order of a call. */
  readonly layers: readonly PageLayer[]
  /** The layers that are in shadow or canary, as the last decision sees them. */
  readonly judged: readonly PageJudged[]
  /** Latest first. */
  readonly changes: readonly PageChange[]
  /** Null: how many there are cannot be told from here now. */
  readonly replicas: ReplicasView | null
  readonly links: PageLinks
}

/** Who looks, as the page is told once a stream. */
export type PageViewer = Actor

/** The process itself. */
export interface PageGateway {
  readonly version: string
  readonly state: 'ok' | 'degraded' | 'draining'
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly inFlight: number
  /** Digest of the configuration in use, its first twelve digits. */
  readonly config: string
  readonly store: { readonly kind: string; readonly up: boolean }
  readonly runners: readonly PageRunner[]
}

/** One runner. */
export interface PageRunner {
  readonly name: string
  readonly kind: string
  readonly available: boolean
  /** Processes that were reached, of those that are known; 0 of 0 for a runner that executes no layers. */
  readonly reached: number
  readonly processes: number
}

/** One layer. */
export interface PageLayer {
  readonly name: string
  /** What it decides, in a few words. */
  readonly does: string
  readonly on: boolean
  readonly stage: 'gateway' | 'shadow' | 'canary' | 'native' | 'rolled-back'
  /** Such as `canary 10 %`. */
  readonly said: string
  /** Its seat among {@link PageSnapshot.stops}. */
  readonly stop: number
  readonly held: boolean
  readonly where: LayerPlace
  /** When, by whom and why it came there; null: it stands where it was configured. */
  readonly moved: { readonly at: number; readonly actor: string; readonly reason: string } | null
  /** Runner processes that can act for it, of those that there are. */
  readonly able: number
  readonly processes: number
  /** Why it can never leave the gateway. */
  readonly stays: string | null
}

/** A gate in words: what was measured, and what it has to be. */
export interface PageGate {
  readonly name: string
  readonly measured: string
  /** Such as `at least 930`. */
  readonly threshold: string
  readonly seen: number
  /** 0: any. */
  readonly needs: number
  readonly met: boolean
}

/** What the last decision says of a layer. */
export interface PageJudged {
  readonly layer: string
  readonly said: string
  /** `pass`: it may go on. `fail`: it comes back. `wait`: there is not enough yet. `inconclusive`: it stays, and a person should look. */
  readonly verdict: 'pass' | 'fail' | 'wait' | 'inconclusive'
  /** The verdict in a sentence. */
  readonly words: string
  /** Why, with the figures. */
  readonly why: string
  readonly samples: number
  readonly needed: number
  /** When the newest call that counted was seen at the earliest, in milliseconds since the epoch; null: there was none. */
  readonly newestAt: number | null
  readonly gates: readonly PageGate[]
}

/** Something that changed. */
export interface PageChange {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly kind: 'moved' | 'back' | 'reload' | 'refused' | 'start'
  /** The layer, or `configuration`, or `gateway`. */
  readonly what: string
  readonly from: string
  readonly to: string
  readonly actor: string
  readonly reason: string
}

/** One thing to look at. */
export interface Finding {
  /** Stays the same while the same is the matter. */
  readonly id: string
  readonly severity: 'bad' | 'warn' | 'info'
  readonly words: string
  /** Name of the runbook, without `.md`. */
  readonly runbook?: string
  /** A command that tells more. */
  readonly command?: string
  /** The layer that it is about. */
  readonly layer?: string
}

/** Where else to look. */
export interface PageLinks {
  /** Names of the runbooks that this gateway has with it. */
  readonly runbooks: readonly string[]
  /** What stands before the id of a trace in the URL of the store that is configured; null: none is. */
  readonly trace: string | null
}
