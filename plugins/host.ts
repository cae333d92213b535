import type { Store } from './store.ts'
import type { TokenCounter } from './tokens.ts'

/** The wall clock, in milliseconds since the epoch, and timers that it drives; tests move it. */
export interface Clock {
  now(): number
}

/** What `Http.send` takes. */
export interface HttpRequest {
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** For the whole exchange, in milliseconds. */
  readonly timeoutMs: number
  /** Longest answer accepted, in bytes; default 1 MiB. */
  readonly maxBytes?: number
  readonly signal?: AbortSignal
}

/** What came back. */
export interface HttpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** HTTP to the helpers an operator configured: JWKS, profiles, scorers, webhooks. Never follows redirects. */
export interface Http {
  /** Throws `runner_unreachable` or `runner_timeout`. Any status is an answer. */
  send(url: string, request: HttpRequest): Promise<HttpAnswer>
}

/** A runner as routing sees it. */
export interface RunnerState {
  /** False while it is ejected after failures, or while a half-open probe is under way. */
  readonly available: boolean
  /** Milliseconds until it may be tried again; 0 when available. */
  readonly retryAfterMs: number
  /** Tokens of calls that are under way there, as estimated. */
  readonly outstandingTokens: number
}

/** The runners of the configuration, by name. */
export interface RunnerBoard {
  readonly names: readonly string[]
  state(name: string): RunnerState
  /** One chat call outside any client's call, for judges and summaries. Any model on any configured runner. Throws `runner_*`. */
  ask(call: RunnerQuestion): Promise<string>
}

/** A question to a model that a layer asks on its own account. */
export interface RunnerQuestion {
  readonly runner: string
  /** The request body: chat completions, not streamed. */
  readonly body: Readonly<Record<string, unknown>>
  readonly timeoutMs: number
  readonly signal?: AbortSignal
}

/** A closed list of things layers count; each becomes a metric without client-controlled labels. */
export type Count =
  | 'cache.hit'
  | 'cache.miss'
  | 'cache.bypass'
  | 'cache.hash-field-absent'
  | 'cache.stored'
  | 'cache.not-stored'
  | 'cache.coalesced'
  | 'rate-limit.refused'
  | 'rate-limit.refunded'
  | 'rate-limit.cut'
  | 'rate-limit.store-lost'
  | 'rate-limit.estimated-usage'
  | 'auth.refused'
  | 'auth.jwks-failed'
  | 'prompt.context-dropped'
  | 'postprocess.redacted'
  | 'postprocess.blocked'
  | 'postprocess.retried'
  | 'postprocess.repaired'
  | 'postprocess.review-sent'
  | 'postprocess.review-failed'
  | 'routing.ejected'

/** The log: structured, without prompt text and without credentials. */
export interface Log {
  info(fields: Readonly<Record<string, unknown>>, message: string): void
  warn(fields: Readonly<Record<string, unknown>>, message: string): void
  error(fields: Readonly<Record<string, unknown>>, message: string): void
}

/** Which process a layer sits in, and whether it works on copies made for comparison: no two sides share a counter or a stored answer. */
export type Side = 'gateway' | 'runner' | 'copy'

/** How a side is written in the keys of a store. */
export const sideKeys: Readonly<Record<Side, string>> = { gateway: 'gw', runner: 'rn', copy: 'cp' }

/** The only doors out of a layer in the gateway. */
export interface Host {
  /** Which side this is; keys in the store carry it. */
  readonly side: Side
  readonly clock: Clock
  readonly store: Store
  readonly http: Http
  readonly tokens: TokenCounter
  readonly runners: RunnerBoard
  readonly log: Log
  /** Names that `plugins/path.ts` resolves in facts only: the fixed ones and the claims that auth declares. */
  readonly declared: ReadonlySet<string>
  /** The request header that names a conversation, lower case, such as `x-conversation-id`. */
  readonly conversationHeader: string
  /** Models that calls may name: the configured ones. */
  readonly models: readonly string[]
  /** Addresses whose `Forwarded` headers are believed: tells whether one of them is `address`. */
  trusts(address: string): boolean
  /** 32 secret bytes for one purpose, derived (HKDF, RFC 5869) from this side's active signing key. */
  secret(purpose: string): Buffer
  /** A file named in the configuration, relative to it, as bytes. Throws `config_invalid` naming the file. */
  file(path: string): Buffer
  count(what: Count, by?: number): void
  /** Ends with the configuration that opened the layers: timers hang on it. */
  readonly closed: AbortSignal
}

/** The only doors out of a layer at the runner. `file` reads a secret by its bare name; `http` reaches only what the runner allows. */
export interface Seat extends Host {
  /** Whether this runner opens connections to a URL's host. */
  allows(url: string): boolean
  /** Whether a secret of this bare name is there. */
  has(secret: string): boolean
}

/** What folding reads beside the configuration. */
export interface FoldSource {
  /** Names that paths resolve in facts only. */
  readonly declared: ReadonlySet<string>
  /** The request header that names a conversation, and the prefix it stands under, lower case. */
  readonly conversationHeader: string
  /** A file that may be seen by everybody, such as a template or a public key. Throws `config_invalid` naming it. */
  file(path: string): Buffer
  /** The bare name by which a step names a secret file: its last part. The file is not read. */
  secret(path: string): string
}
