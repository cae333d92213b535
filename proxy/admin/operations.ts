import type { AdminRole } from '../../config/admin.ts'
import type { ReloadOutcome } from '../../config/live.ts'
import type { LogLevel } from '../../config/sections.ts'
import type { CallStory } from './stories.ts'

/** Who asks at the admin port. */
export interface Actor {
  /** Name of the token, or what somebody on this machine called themselves. */
  readonly name: string
  readonly role: AdminRole
  /** True when a token proved it. */
  readonly verified: boolean
}

/** A question that Kubernetes asks. */
export type Probe = 'live' | 'ready' | 'startup'

/** One thing that a probe looks at. */
export interface HealthCheck {
  readonly name: string
  readonly ok: boolean
  /** Why not, in words, without secrets. */
  readonly note?: string
}

/** The answer to a probe: it is well when every check is. */
export type Health = readonly HealthCheck[]

/** Where one layer runs now. */
export interface LayerView {
  readonly name: string
  /** False: not configured, so it does nothing. */
  readonly on: boolean
  /** `gateway` in this version. */
  readonly stage: string
  /** Who executes it: `gateway`, `runner` or `none`. */
  readonly where: string
  /** What `layer-status` prints for it: `active` or `evaporation-bypassed` in this version. */
  readonly status: string
  /** Routes it applies to. */
  readonly routes: readonly string[]
}

/** One runner as the gateway sees it. */
export interface RunnerView {
  readonly name: string
  readonly kind: string
  readonly url: string
  readonly available: boolean
  readonly outstandingTokens: number
}

/** The gateway at a glance. */
export interface StatusView {
  readonly version: string
  /** `ok`, or `degraded` when one of `problems` is there; `draining` once it has been told to leave. */
  readonly state: 'ok' | 'degraded' | 'draining'
  readonly problems: readonly string[]
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly inFlight: number
  /** Digest of the configuration in use. */
  readonly config: string
  readonly lastReload: ReloadOutcome
  readonly store: { readonly kind: string; readonly up: boolean }
  readonly runners: readonly RunnerView[]
  readonly layers: readonly LayerView[]
}

/** What one layer does, for `explain LAYER`. */
export interface LayerStory extends LayerView {
  readonly reads: readonly string[]
  readonly writes: readonly string[]
  readonly answers: boolean
  readonly rewrites: boolean
  /** Its settings as in use, redacted; undefined when it is off. */
  readonly config: unknown
  /** Why it may or may not move to the runner, in words. */
  readonly foldable: string
}

/** The configuration in use, redacted, and how the last reload went. */
export interface ConfigView {
  readonly config: unknown
  readonly digest: string
  readonly lastReload: ReloadOutcome
}

/** How a wait for the end of a drain ended. */
export interface DrainOutcome {
  readonly drained: boolean
  readonly inFlight: number
}

/** What the admin port asks of the gateway. Nothing here blocks but `reload` and `drained`. */
export interface Operations {
  /** `live` looks at nothing outside this process. `ready` is false while draining. */
  health(probe: Probe): Health
  /** The metrics in the text format of Prometheus. */
  metrics(): Promise<{ readonly contentType: string; readonly text: string }>
  status(): StatusView
  layers(): readonly LayerView[]
  config(): ConfigView
  reload(by: Actor): Promise<ReloadOutcome>
  /** One call by its request id or call id; undefined when it is not remembered. */
  explain(id: string): CallStory | undefined
  /** Undefined when there is no such layer. */
  explainLayer(name: string): LayerStory | undefined
  /** Starts draining; asking again changes nothing. */
  drain(by: Actor, reason: string | undefined): void
  /**
   * Only waits: until a drain has begun (for at most the drain's own delay, since hooks of several containers start together), its
   * delay has passed and no call is in flight, or its deadline is over, or `signal` aborts.
   */
  drained(signal: AbortSignal): Promise<DrainOutcome>
  logLevel(): LogLevel
  setLogLevel(level: LogLevel, by: Actor): void
}
