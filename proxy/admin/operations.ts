import type { AdminRole } from '../../config/admin.ts'
import type { ReloadOutcome } from '../../config/live.ts'
import type { LogLevel } from '../../config/sections.ts'
import type { PurgeScope } from '../../plugins/cache/index.ts'
import type { ConsumersView } from '../consumers.ts'
import type { LegacyReport } from '../folding/diff/legacy-agreement.ts'
import type { DecisionRecord } from '../folding/rollout/decision-record.ts'
import type { ShadowView } from '../folding/shadow/shadow.ts'
import type { StageVerb } from '../folding/stage-plan.ts'
import type { PeerReply } from '../folding/state/peer-courier.ts'
import type { Switched, SwitchName } from '../folding/state/switches.ts'
import type { AnalysisDocument } from '../outside/hooks/analysis.ts'
import type { FlaggerHook, HookAnswer } from '../outside/hooks/flagger.ts'
import type { RecentView } from '../telemetry/recent-view.ts'
import type { LayerStory, LayerView } from './layer-view.ts'
import type { RunnerView } from './runner-view.ts'
import type { ChangeView, StageOutcome } from './stage-view.ts'
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
  readonly switches: SwitchesView
}

/** What people have switched for all layers and replicas, by whom, why and when; absent: it is off. */
export type SwitchesView = Readonly<Partial<Record<SwitchName, Switched>>>

/** What came of turning a switch. */
export interface SwitchOutcome {
  readonly name: SwitchName
  readonly on: boolean
  /** False: it was so already. */
  readonly changed: boolean
  readonly switches: SwitchesView
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

/** What the layers that move are judged by now. */
export interface EvidenceView {
  readonly layers: Readonly<Record<string, DecisionRecord>>
}

/** The replicas that share the stages, this one included, as far as this one has heard of them. */
export interface ReplicasView {
  /** How many stand where this one does. */
  readonly agree: number
  readonly of: number
  /** Those that do not, or were not heard of, by name or address. */
  readonly away: readonly string[]
}

/** Who asks for a change of stages, and why. */
export interface ChangedBy {
  readonly actor: Actor
  readonly reason: string
}

/** What came of forgetting stored answers. */
export interface PurgeOutcome {
  /** How many went, as far as they were counted: here, and in a shared store. */
  readonly purged: number
  /** Which replicas follow: all that share the store, within `cache.localTtlMs`; or this one. */
  readonly replicas: 'all' | 'this one'
  /** A runner keeps answers too: it hears of it with its next call, and forgets all of the route. */
  readonly atRunner: boolean
}

/** What the admin port asks of the gateway. Nothing here blocks but `reload`, `purgeCache` and `drained`. */
export interface Operations {
  /** `live` looks at nothing outside this process. `ready` is false while draining. */
  health(probe: Probe): Health
  /** The metrics, in the text format that an `Accept` header prefers; see `Metrics`. */
  metrics(accept: string | undefined): Promise<{ readonly contentType: string; readonly text: string }>
  status(): StatusView
  layers(): readonly LayerView[]
  config(): ConfigView
  reload(by: Actor): Promise<ReloadOutcome>
  /** One call by its request id or call id; undefined when it is not remembered. */
  explain(id: string): CallStory | undefined
  /** Undefined when there is no such layer. */
  explainLayer(name: string): LayerStory | undefined
  /**
   * Moves one layer, or holds it where it is; whole or not at all. Throws `stage_refused` saying why not, and `not_found` for a layer that
   * is not configured.
   */
  changeStage(verb: StageVerb, layer: string, by: ChangedBy): Promise<StageOutcome>
  /** Every layer that is out comes back to the gateway; with `kubernetes`, the runner's Deployment is undone after that, where that is on. */
  rollbackAll(by: ChangedBy, also: { readonly kubernetes: boolean }): Promise<StageOutcome>
  switches(): SwitchesView
  /** Turns a switch on or off for all replicas. Throws `stage_refused` where that cannot be noted. */
  turnSwitch(name: SwitchName, on: boolean, by: ChangedBy): Promise<SwitchOutcome>
  /** Forgets stored answers. Throws `not_found` where no cache is configured, `store_lost` where other replicas could not be told. */
  purgeCache(scope: PurgeScope, by: ChangedBy): Promise<PurgeOutcome>
  /** The latest changes of stages, latest last: at most `limit` of them. */
  history(limit: number): Promise<readonly ChangeView[]>
  /** The last decision over each layer that moves, with everything that it rested on. */
  evidence(): EvidenceView
  /** How a layer's rollout goes, for Argo Rollouts; one that was rolled back so lately fails. Undefined for a layer that is not configured. */
  analysis(layer: string, withinMs: number): AnalysisDocument | undefined
  /** Answers a webhook of Flagger. */
  flagger(hook: FlaggerHook, payload: unknown): HookAnswer
  /** Takes in what another replica says; undefined where replicas do not speak to each other. */
  receivePeer(body: string): Promise<PeerReply> | undefined
  /** In what the two halves of layers differ. */
  diffs(): ShadowView
  /** How far we agree with the existing chain that serves; undefined where there is none. */
  legacy(): LegacyReport | undefined
  /** What callers have noticed within the last hour, of this process. */
  recent(): RecentView
  /** Undefined: how many there are cannot be told from here now. */
  replicas(): ReplicasView | undefined
  /** Who still asks for old headers. */
  consumers(): ConsumersView
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
