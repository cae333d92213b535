/** One runner as the gateway sees it. */
export interface RunnerView {
  readonly name: string
  readonly kind: string
  readonly url: string
  readonly available: boolean
  readonly outstandingTokens: number
  /** The processes behind its URL, where it executes layers; empty for any other runner, and without a key to sign with. */
  readonly processes: readonly RunnerProcessView[]
}

/** One process of a native runner. What it says of itself is absent until it was reached. */
export interface RunnerProcessView {
  /** Host and port. */
  readonly address: string
  /** The last handshake reached it. */
  readonly reachable: boolean
  /** Why it was not reached. */
  readonly why?: string
  /** Drawn anew at each of its starts. */
  readonly boot?: string
  /** Its software and version. */
  readonly runner?: string
  /** `in-engine`, or `beside-engine`: in front of an engine that it does not control. */
  readonly placement?: string
  /** Name and version. */
  readonly engine?: string
  /** Whether its counters and stored answers are its own (`local`) or in a store shared with others (`shared`). */
  readonly state?: string
  /** Version of each layer that it executes. */
  readonly layers?: Readonly<Record<string, number>>
  /** Calls on their way there. */
  readonly underWay: number
}
