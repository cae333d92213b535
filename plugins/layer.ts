import type { LayerMember } from './acknowledgement.ts'
import type { Call, Fact, Principal } from './call.ts'
import type { Route } from './chat.ts'
import type { Directives } from './directives.ts'
import type { ErrorCode, Fault } from './errors.ts'
import type { ClaimValue, LayerReads } from './execution-context-facts.ts'
import type { FoldSource, Host, Seat } from './host.ts'
import type { LayerReport } from './policy-report.ts'
import type { Reply } from './reply.ts'
import type { Schema } from './schema.ts'
import type { Verdict } from './verdict.ts'

/** `enforce` decides the call; `observe` only says what it would have decided, and affects nobody. */
export type Mode = 'enforce' | 'observe'

/** Runs what is inside a layer once more, for a bounded retry. Throws what refuses or fails in there. */
export type Again = (call: Call) => Promise<Reply>

/** How a layer settles: whether it decides, and the way to ask once more. For an observer `again` always fails. */
export interface SettleTurn {
  readonly mode: Mode
  readonly again: Again
}

/** What a layer does to a call, whichever process it sits in. */
export interface Acting {
  /**
   * Says what becomes of the call. Throws nothing but `GatewayError`. Absent: every call passes. An observer that is given `reads` judges
   * over them instead of over its own state, and applies the call to its own state all the same.
   */
  decide?(call: Call, mode: Mode, reads?: LayerReads): Verdict | Promise<Verdict>
  /**
   * On the way back: watches, changes or replaces the reply. May throw `GatewayError` while nothing has been sent. An observer is given a
   * copy that goes by beside the live one: what it makes of it is dropped, its own state is kept, and nothing outside may notice.
   */
  settle?(call: Call, reply: Reply, turn: SettleTurn): Reply | Promise<Reply>
  /**
   * The mutable values that its decision on this call rested on (a bucket's level, what a ledger owed), for an observer on the other side:
   * at most 512 bytes as compact JSON. Asked after `decide`, before `release`. Absent or undefined: there are none.
   */
  reads?(call: Call): LayerReads | undefined
  /** Facts that its half at the runner is to know with every call, beside those of the call itself; few and short. Undefined: none now. */
  tells?(): Readonly<Record<string, ClaimValue>> | undefined
  /** What the acknowledgement says of this call beside its outcome; asked when the answer begins, and again just before `release`. */
  notes?(call: Call): LayerNotes | undefined
  /**
   * Its rule as it applies to this call, as data: its digest is part of the key of a cache further out. Undefined when an answer under it
   * must not be kept. Absent: nothing about it changes an answer.
   */
  ruleFor?(call: Call): unknown
  /** It holds the whole answer to this call back before it lets any of it go. Absent: never. */
  buffers?(call: Call): boolean
  /** Called once when a call this layer was asked about is over, however it ended. */
  release?(call: Call): void
  /** Gives back what `open` took: timers, connections. */
  close?(): Promise<void>
}

/** What an acknowledgement may say of one layer beside version, mode, outcome, time and essence. */
export type LayerNotes = Pick<LayerMember, 'sub' | 'ten' | 'tier' | 'rsv' | 'rem' | 'bkt' | 'used'>

/** What became of compiling a step: as reported, without the time it took. */
export type StepFinding = Omit<LayerReport, 'ms'>

/** The half at the runner: the data it is handed, and what that data means. */
export interface NativeContract<Step = any> {
  /** Raised when a step means something new. */
  readonly version: number
  readonly step: Schema<Step>
  /** It keeps counters or answers: over several instances it folds only where their state is shared. */
  readonly stateful: boolean
  /**
   * Makes the half that executes a step: in the runner with its seat, and in the gateway, with the gateway's own doors, for a step that a
   * caller's directives have tightened. Must not touch the network. Throws `config_invalid` with every fault, paths inside the step.
   */
  act(step: Step, seat: Seat): Acting | Promise<Acting>
  /** How much of a step this runner can hold to. Pure and quick. Absent: all of it. */
  inspect?(step: Step, seat: Seat): StepFinding
  /** What of a verdict must agree between the two halves, as JSON; absent: {@link wholeVerdict}. */
  essence?(verdict: Verdict, call: Call): unknown
  /** Request headers that the step reads, lower case: they travel inside the signed context. */
  headers?(step: Step): readonly string[]
  /** Request headers that hold a credential which it verifies: they travel in `x-caller-credential`. */
  credentials?(step: Step): readonly string[]
  /** Claims of the caller that the step's paths name: only those travel. */
  claims?(step: Step): readonly string[]
  /** It acts on the answer while it is made: its outcome is `armed` until the end. */
  readonly arms?: boolean
  /** Calls that a runner is tried with before it is believed, some of which it must refuse. */
  readonly probes: readonly Probe<Step>[]
}

/** Stands in steps and bodies of probes for a model that the runner serves. */
export const probeModel = 'probe-model'

/** A probe as a runner that serves these models is asked it. */
export function probeFor(probe: Probe, [model]: readonly string[]): Probe {
  if (model === undefined) return probe
  const text = JSON.stringify([probe.step, probe.body])
  if (!text.includes(probeModel)) return probe
  const [step, body] = JSON.parse(text.replaceAll(`"${probeModel}"`, () => JSON.stringify(model))) as [unknown, unknown]
  return { ...probe, step, body }
}

/** A call that a runner is asked about through `decide`, and what it must say. */
export interface Probe<Step = any> {
  /** A fact, such as `a token of another issuer is refused`. */
  readonly title: string
  readonly step: Step
  /** Default `chat`. */
  readonly route?: Exclude<Route, 'passthrough'>
  readonly body: unknown
  /** Request headers, credentials among them, lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /** Default: a caller `probe` of the tenant `probe`, without tier, scopes and claims. */
  readonly principal?: Partial<Principal>
  /** Default 1,900,000,000,000. */
  readonly now?: number
  readonly reads?: LayerReads
  /** The essence must be that of the gateway's own half, besides. */
  readonly expect: { readonly o: 'pass' | 'answer' | 'refuse'; readonly code?: ErrorCode }
}

/** One layer: its name, what it declares, its settings, and the half that sits in the gateway. */
export interface Layer<Name extends string = string, Config = any, Step = any> {
  readonly name: Name
  /** Facts it needs. One that nobody writes is absent, not an error, for layers that can do without. */
  readonly reads: readonly Fact[]
  /** Facts it writes; it writes no others. */
  readonly writes: readonly Fact[]
  /** It may answer a call itself, so that nothing further in is asked. */
  readonly answers: boolean
  /** It may rewrite the request on its way in. */
  readonly rewrites: boolean
  /** Its `settle` reads token usage, so streams are asked to report it. */
  readonly meters: boolean
  /** Members of a request that it holds answers to by itself: a runner that refuses one can be asked without it. */
  readonly enforces?: readonly string[]
  /** Routes it applies to; on the others it prints `evaporation-bypassed`. */
  readonly routes: readonly Route[]
  readonly config: Schema<Config>
  /** Names that paths resolve in facts only, such as the claims it makes of a token, for a configuration of it. */
  declares?(config: Config): readonly string[]
  /** What can be used but somebody should know, as paths inside the section and words. */
  warnings?(config: Config): readonly Fault[]
  /** Makes the gateway half. Called once a configuration; must not touch the network. Throws `config_invalid`. */
  open(config: Config, host: Host): Acting | Promise<Acting>
  /** Why a configuration of it can never leave the gateway, in words; absent or undefined: nothing keeps it. */
  stays?(config: Config): string | undefined
  /** The rule for the runner, as data: the rule, never its result. Pure: same configuration and files, same step. Holds no secret. */
  fold?(config: Config, source: FoldSource): Step
  /**
   * The step with what a caller's directives ask of it: only ever stricter. Pure. The same step when they ask nothing of this layer. Throws
   * `invalid_request` naming the directive, such as `execution_context.cache.ttl_seconds`.
   */
  tighten?(step: Step, directives: Directives): Step
  /** Absent in a layer that cannot fold. */
  readonly native?: NativeContract<Step>
}

/** Declares a layer, with its name, its config and its step inferred. */
export function defineLayer<const Name extends string, Config, Step = never>(
  layer: Layer<Name, Config, Step>,
): Layer<Name, Config, Step> {
  return layer
}

/** The whole of a verdict as JSON: its kind, the facts a pass writes, the request where it was rewritten, the code of a refusal. */
export function wholeVerdict(verdict: Verdict): unknown {
  if (verdict.kind === 'refuse') return { kind: 'refuse', code: verdict.error.code }
  if (verdict.kind === 'answer') return { kind: 'answer', status: verdict.reply.status }
  const { facts, request } = verdict
  return { kind: 'pass', facts, ...(request ? { request } : {}) }
}
