import type { Capabilities } from '../../../plugins/capabilities.ts'
import type { Host } from '../../../plugins/host.ts'
import type { SigningKey, VerifyingKey } from '../../../plugins/jws-key.ts'
import type { Layer } from '../../../plugins/layer.ts'
import type { PolicyReport } from '../../../plugins/policy-report.ts'
import type { Later } from '../later.ts'
import type { Policies } from '../policies.ts'

/** Who hears what comes of an instance: metrics and the controller. */
export interface InstanceWatch {
  /** A process said what it is, at a place such as `127.0.0.1:8000`. */
  met?(runner: string, place: string, capabilities: Capabilities): void
  handshake?(runner: string, result: 'done' | 'failed'): void
  registered?(runner: string, report: PolicyReport | undefined): void
  probed?(runner: string, layer: string, held: boolean): void
  /** A layer that was folded can no longer act there. */
  probeFailed?(runner: string, layer: string, words: string): void
}

/** What an instance is made from. */
export interface InstanceParts {
  /** What contexts and policies are signed with. */
  readonly key: SigningKey
  /** The public half of the runner's own key, where `key` is an EdDSA one. */
  readonly ackKey?: VerifyingKey
  /** Id of this gateway. */
  readonly iss: string
  readonly host: Host
  readonly policies: Policies
  /** Default: all. */
  readonly layers?: readonly Layer[]
  /** Whether the runner is this one process; default: it is. */
  alone?(): boolean
  /** 128 random bits in hex. */
  randomId?(): string
  /** Default: the process's timers. */
  readonly later?: Later
  readonly watch?: InstanceWatch
  /** The layers that are folded or on their way, which probes go on for, and how often one is asked; default 30,000 ms. */
  readonly standing?: { readonly everyMs?: number; layers(): readonly string[] }
}
