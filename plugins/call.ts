import { type ChatRequest, type Route, requestFromBody } from './chat.ts'

/** Who is calling. Written by auth; keys, limits and cache entries hang on `tenant`. */
export interface Principal {
  /** Stable id of the caller inside its tenant: the token's `sub`, or the API key's id. */
  readonly id: string
  readonly tenant: string
  /** Service tier, such as `free` or `vip`; empty when none is known. */
  readonly tier: string
  readonly scopes: readonly string[]
  /** The claims and profile members that the configuration names. */
  readonly claims: Readonly<Record<string, unknown>>
  readonly method: 'jwt' | 'api-key' | 'trusted-hop' | 'mtls' | 'anonymous'
}

/**
 * What is learned about a call on its way. Each fact has one writer; a layer adds its own by augmenting this interface.
 */
export interface Facts {
  /** Address of the caller: the socket's, or behind trusted proxies the right-most one that no trusted proxy wrote. Written by the server. */
  client_ip: string
  /** Who is calling. Written by auth; absent when auth is off. */
  principal: Principal
}

/** The name of a fact. */
export type Fact = keyof Facts & string

/** One request on its way inward. Never mutated: a verdict makes the next one. */
export interface Call {
  /** 128 random bits in hex, minted by the gateway for this call; never the caller's own request id. */
  readonly id: string
  readonly route: Route
  /** The call's one instant, in milliseconds since the epoch: templates and limits use it, whichever side they sit on. */
  readonly now: number
  /** The bytes as they came, or, after a rewrite, the rewritten request. Serialised on first use. */
  readonly body: Buffer
  /** True while `body` is still what the caller sent. */
  readonly untouched: boolean
  /** Somebody has read `request`: it is there for nothing more. */
  readonly parsed: boolean
  /** The parsed request; parsed on first use. Throws `invalid_json` or `invalid_request` naming the field. */
  readonly request: ChatRequest
  /** Request headers, names in lower case, repeated ones joined by `, `. */
  readonly headers: Readonly<Record<string, string>>
  readonly facts: Readonly<Partial<Facts>>
  /** Aborted when the caller goes away or the call's deadline passes. */
  readonly signal: AbortSignal
  /** The call with more facts and, where given, another request. */
  with(facts: Partial<Facts>, request?: ChatRequest): Call
}

/** What a call starts from. */
export interface CallInit {
  readonly id: string
  readonly route: Route
  readonly now: number
  readonly body: Buffer
  readonly headers: Readonly<Record<string, string>>
  readonly facts: Readonly<Partial<Facts>>
  readonly signal: AbortSignal
}

// A class for speed: the getters live on one prototype instead of being made anew for each call and each verdict.
class Inbound implements Call {
  readonly id: string
  readonly route: Route
  readonly now: number
  readonly headers: Readonly<Record<string, string>>
  readonly facts: Readonly<Partial<Facts>>
  readonly signal: AbortSignal
  readonly untouched: boolean
  #body: Buffer | undefined
  #parsed: { request?: ChatRequest }

  constructor(init: Omit<CallInit, 'body'>, body: Buffer | undefined, parsed: { request?: ChatRequest }) {
    this.id = init.id
    this.route = init.route
    this.now = init.now
    this.headers = init.headers
    this.facts = init.facts
    this.signal = init.signal
    this.untouched = body !== undefined
    this.#body = body
    this.#parsed = parsed
  }
  get body(): Buffer {
    this.#body ??= Buffer.from(JSON.stringify(this.#parsed.request))
    return this.#body
  }
  get parsed(): boolean {
    return this.#parsed.request !== undefined
  }
  get request(): ChatRequest {
    // Shared between all calls made from this one, so that the body is parsed at most once.
    this.#parsed.request ??= requestFromBody(this.body, this.route)
    return this.#parsed.request
  }
  with(facts: Partial<Facts>, request?: ChatRequest): Call {
    const init = { ...this.#init(), facts: { ...this.facts, ...facts } }
    if (request) return new Inbound(init, undefined, { request })
    return new Inbound(init, this.untouched ? this.#body : undefined, this.#parsed)
  }
  #init(): Omit<CallInit, 'body'> {
    const { id, route, now, headers, facts, signal } = this
    return { id, route, now, headers, facts, signal }
  }
}

/** Makes the call that the outermost layer is asked about. */
export function createCall(init: CallInit): Call {
  return new Inbound(init, init.body, {})
}
