import type { StoreConfig } from '../config/store.ts'
import type { Clock, Log } from '../plugins/host.ts'
import type { VerifyingKey } from '../plugins/jws-key.ts'
import type { Layer } from '../plugins/layer.ts'

/** What a runner executes layers with. Without keys it takes no context, and calls are plain. */
export interface ExecutionOptions {
  /** Keys that contexts and policies are signed with; two while they rotate. */
  readonly keys?: readonly VerifyingKey[]
  /** The Ed25519 private key (PKCS #8, PEM) of acknowledgements to contexts under an EdDSA key; needed where there is one. */
  readonly ackKey?: string | Buffer
  /** The folder of the secrets that steps name by their bare file names; absent: there are none. */
  readonly secretsDir?: string
  /** Hosts that connections are opened to, each `host` or `host:port`; default none. */
  readonly egress?: readonly string[]
  /** Where counters and stored answers are kept; default in this process. */
  readonly store?: StoreConfig
  /** The folder that policies are kept in over a restart; absent: they are not kept. */
  readonly policyDir?: string
  /** Calls without a context are served although there are keys. On a loopback address only. Default false. */
  readonly allowPlain?: boolean
  /** Default: every layer of the product, or without keys none. One without `native` is not executed. */
  readonly layers?: readonly Layer[]
  /** Default: the wall clock. */
  readonly clock?: Clock
  /** Default: lines of JSON on standard error. */
  readonly log?: Log
  /** Most policies that are kept compiled; default 64. */
  readonly maxPolicies?: number
  /** Most bytes of JSON of all of them together; default 33554432 (32 MiB). */
  readonly maxPolicyBytes?: number
  /** Most sends of calls that are remembered against replay; default 262144. */
  readonly replayCapacity?: number
}
