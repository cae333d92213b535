import { createEmbeddedStore } from '../../../config/store/embedded.ts'
import type { Call } from '../../../plugins/call.ts'
import type { Capabilities } from '../../../plugins/capabilities.ts'
import { gatewayError, gatewayErrorFrom } from '../../../plugins/errors.ts'
import { headerNames } from '../../../plugins/headers.ts'
import type { Host, Seat } from '../../../plugins/host.ts'
import { createInsideDigest } from '../../../plugins/inside-digest.ts'
import { type Acting, type NativeContract, type Probe, wholeVerdict } from '../../../plugins/layer.ts'
import { pass, refuse, type Verdict } from '../../../plugins/verdict.ts'

/** A place in the gateway where the runner's half of a layer can be asked: with the doors that a runner has, none of which leads outside. */
export interface ProbeSeat extends Seat, Disposable {}

/** Opens a {@link ProbeSeat} over the gateway's host, with memory of its own, as the runner of these capabilities would. */
export function openProbeSeat(host: Host, { models }: Pick<Capabilities, 'models'>): ProbeSeat {
  const closing = new AbortController()
  const outside = async (): Promise<never> => {
    throw gatewayError('runner_unreachable', 'a probe leads nowhere outside')
  }
  return {
    ...host,
    side: 'copy',
    store: createEmbeddedStore(host.clock),
    http: { send: outside },
    runners: { names: everyName, state: () => atRest, ask: outside },
    declared: new Set(),
    conversationHeader: headerNames().conversationId,
    models: models.map(({ id }) => id),
    trusts: () => false,
    file: (path) => {
      throw gatewayError('config_invalid', `a probe has no file ${path}`)
    },
    count() {},
    allows: () => true,
    has: () => false,
    closed: closing.signal,
    // Further in than the one layer of a probe there is nothing.
    insideDigest: createInsideDigest([], new Map()),
    [Symbol.dispose]: () => closing.abort(),
  }
}

// Whatever a step calls a runner, it is this one.
const everyName: readonly string[] = Object.assign([], { includes: () => true })
const atRest = { available: true, retryAfterMs: 0, outstandingTokens: 0 } as const

/** The essence of what the gateway's own copy of a layer's native half makes of a probe's call. Throws what `act` throws. */
export async function ownEssence(native: NativeContract, { probe, call, seat }: Asking): Promise<unknown> {
  const acting = await native.act(probe.step, seat)
  try {
    const verdict = await verdictOf(acting, call, probe)
    return native.essence ? native.essence(verdict, call) : wholeVerdict(verdict)
  } finally {
    acting.release?.(call)
    await acting.close?.()
  }
}

/** A probe's call, and where it is judged here. */
export interface Asking {
  readonly probe: Probe
  readonly call: Call
  readonly seat: Seat
}

async function verdictOf(acting: Acting, call: Call, { reads }: Probe): Promise<Verdict> {
  try {
    return (await acting.decide?.(call, 'observe', reads)) ?? pass()
  } catch (reason) {
    return refuse(gatewayErrorFrom(reason))
  }
}
