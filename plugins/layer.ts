import type { Call, Fact } from './call.ts'
import type { Route } from './chat.ts'
import type { Fault } from './errors.ts'
import type { Host } from './host.ts'
import type { Reply } from './reply.ts'
import type { Schema } from './schema.ts'
import type { Verdict } from './verdict.ts'

/** `enforce` decides the call; `observe` only says what it would have decided, and affects nobody. */
export type Mode = 'enforce' | 'observe'

/** Runs what is inside a layer once more, for a bounded retry. Throws what refuses or fails in there. */
export type Again = (call: Call) => Promise<Reply>

/** What a layer does to a call, whichever process it sits in. */
export interface Acting {
  /** Says what becomes of the call. Throws nothing but `GatewayError`. Absent: every call passes. */
  decide?(call: Call, mode: Mode): Verdict | Promise<Verdict>
  /** On the way back: watches, changes or replaces the reply. May throw `GatewayError` while nothing has been sent. */
  settle?(call: Call, reply: Reply, again: Again): Reply | Promise<Reply>
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

/** One layer: its name, what it declares, its settings, and the half that sits in the gateway. */
export interface Layer<Name extends string = string, Config = any> {
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
}

/** Declares a layer, with its name and config inferred. */
export function defineLayer<const Name extends string, Config>(layer: Layer<Name, Config>): Layer<Name, Config> {
  return layer
}
