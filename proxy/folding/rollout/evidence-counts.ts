import type { FallbackReason } from '../../../plugins/execution-context-fallback.ts'

/** A step of a rollout: the shadow, then the shares of a canary, of which S4 is the last (`canary.md` §3.8). */
export type RolloutStep = 'shadow' | 'S1' | 'S2' | 'S3' | 'S4'

/** Which half of the layer decided: the runner's, for the canary's share, or the gateway's. Both at the same time, in the same tier. */
export type Arm = 'canary' | 'control'

/**
 * What one arm counted. Every counter only grows and counts calls, so counts of apart processes merge by adding. A call is counted in the
 * arm it was drawn into, whatever became of it. Synthetic and shadow copies are never counted here.
 */
export interface ArmCounts {
  /** Drawn into this arm, counted at the draw and apart from all spans. */
  readonly assigned: number
  /** Sent on towards the runner. */
  readonly started: number
  /** Over, however: the trials of every rate below. */
  readonly ended: number
  /**
   * Went wrong for the caller, at most one per (unit, signature, 60 s): 5xx or transport error, broken stream, layer status that does not
   * match, hard difference in a live check, first byte too late, usage that does not add up. Not: aborts, rightful 4xx, text that differs.
   */
  readonly bad: number
  /** Of `bad`: at most {@link mostBadOfUnit} of each unit in a step, in each process. */
  readonly badOfMany: number
  /** Of `bad`: what this layer's half caused itself. */
  readonly failed: number
  /** Calls that the gateway served in the end, by reason. Only what the runner caused counts (`protocol.md`). */
  readonly fallbacks: Readonly<Partial<Record<FallbackReason, number>>>
  /** Acknowledged by a layer version that is unknown or newer than what was asked for. */
  readonly unknownVersions: number
  /** Acknowledged otherwise than asked, by the right version: layer left out, done twice, other mode. */
  readonly mismatches: number
  /** Times to the first byte that were taken, without the first 50 per (replica, activation). */
  readonly timed: number
  /** Of `timed`: above the frozen p95 and p99 of their stratum. */
  readonly overQ95: number
  readonly overQ99: number
  /** What answers were like, of those that were looked at. */
  readonly answers: AnswerCounts
}

/**
 * How answers came out (R25), a sample of both arms alike. `looked`: at so many; of them `cut` by their length limit and `declined` by the
 * model. `sized`: held against the lengths that the control had at first, of them `short` and `long`. `rated` by callers, of them
 * `disliked`; `scored` by the configured scorer, of them `poor`.
 */
export type AnswerCounts = Readonly<Partial<Record<AnswerCount, number>>>

/** A name in {@link AnswerCounts}. */
export type AnswerCount = AnswerEvent | 'looked' | 'sized' | 'rated' | 'scored'

/** What may speak against an answer. */
export type AnswerEvent = 'cut' | 'declined' | 'short' | 'long' | 'disliked' | 'poor'

/** Of how many each of these is counted. */
export const answerTrials: Readonly<Record<AnswerEvent, AnswerCount>> = {
  cut: 'looked',
  declined: 'looked',
  short: 'sized',
  long: 'sized',
  disliked: 'rated',
  poor: 'scored',
}

/**
 * So many bad calls of one unit count in `badOfMany`. Tenants have rates of their own: a few large ones in a small share are no fault of the
 * layer, and what is bad for many is.
 */
export const mostBadOfUnit = 3

/** One step, tier and window of time, with both arms. The window only has to be short against changes of the share: 5 minutes. */
export interface Cell {
  readonly step: RolloutStep
  readonly tier: string
  /** When the window began, in milliseconds since the epoch. The first of a step begins with the step. */
  readonly window: number
  readonly canary: ArmCounts
  readonly control: ArmCounts
}

/** What may happen to a unit; each counts once per unit and rollout, as what happens to one unit twice is no second piece of evidence. */
export type UnitEvent = 'bad' | 'refused' | 'limited' | 'aborted' | AnswerEvent

/** All {@link UnitEvent}s. `refused` is a 4xx but 429, `limited` a 429, `aborted` a caller that went away. */
export const unitEvents: readonly UnitEvent[] = [
  ...(['bad', 'refused', 'limited', 'aborted'] as const),
  ...(['cut', 'declined', 'short', 'long', 'disliked', 'poor'] as const),
]

/**
 * That a unit was seen in a step and a tier, in which arm, and what happened to it at least once. Marks of apart processes merge as a set.
 * Where units are conversations, only those with a hash below a fixed share may be marked (`sampled` of the view).
 */
export interface UnitMark {
  readonly step: RolloutStep
  readonly tier: string
  readonly arm: Arm
  /** Short hashes, never names. Where the unit is the tenant they are equal. */
  readonly unit: string
  readonly tenant: string
  readonly events: readonly UnitEvent[]
}

/** A fuse that one replica or runner has blown for itself, in the order in which calls ended there. It stays blown. */
export type LocalFuse = 'bad' | 'fallback' | 'cusum'

/** One place where calls of the canary are executed: a gateway replica, or a runner. Runners are heard of by several replicas. */
export interface PlaceCounts {
  readonly kind: 'gateway' | 'runner'
  readonly id: string
  /** Canary calls of this step that ended there. */
  readonly ended: number
  readonly blown: readonly LocalFuse[]
  /** Ages of canary calls in flight without a first byte, in milliseconds, the eight oldest. Not a counter: as of now. */
  readonly waitingMs: readonly number[]
}

/** Comparisons in shadow (`canary.md` §2.6), of the layer's boundary and of whole answers. */
export interface ShadowCounts {
  /** Calls that could have been compared, and those of them that were left out. */
  readonly eligible: number
  readonly skipped: number
  /** Boundary comparisons by stratum, such as `stream` or `vip`, and those with a hard difference. `all` holds every one. */
  readonly strata: Readonly<Record<string, { readonly compared: number; readonly different: number }>>
  /** Triples of whole answers: only the new one differs, only the old one's second differs, neither or both do. */
  readonly worse: number
  readonly better: number
  readonly ties: number
}

/** Things that must not happen once. */
export interface SevereCounts {
  /** Auth at the runner let through what the gateway refuses. */
  readonly falseAllow: number
  /** A cache key of another tenant. */
  readonly crossTenant: number
  /** A shadow did something outside. */
  readonly leakedEffects: number
  /** Calls that were billed or debited twice, or not at all. */
  readonly billing: number
}

/** How many of the calls that were drawn into the canary in one whole minute have ended or are in flight. */
export interface MinuteCounts {
  /** When the minute began, in milliseconds since the epoch. */
  readonly minute: number
  readonly assigned: number
  readonly accounted: number
}

/** Nothing counted. */
export const noCounts: ArmCounts = {
  assigned: 0,
  started: 0,
  ended: 0,
  bad: 0,
  badOfMany: 0,
  failed: 0,
  fallbacks: {},
  unknownVersions: 0,
  mismatches: 0,
  timed: 0,
  overQ95: 0,
  overQ99: 0,
  answers: {},
}

/** Nothing compared. */
export const noShadow: ShadowCounts = { eligible: 0, skipped: 0, strata: {}, worse: 0, better: 0, ties: 0 }

/** Nothing severe. */
export const noSevere: SevereCounts = { falseAllow: 0, crossTenant: 0, leakedEffects: 0, billing: 0 }
