import type { Call } from '../call.ts'
import type { Route } from '../chat.ts'
import type { GatewayError } from '../errors.ts'
import type { Host } from '../host.ts'
import type { Estimate } from './demand.ts'
import { placeOf } from './key.ts'
import type { Limit } from './limits.ts'
import type { Held, Moment, Want } from './reservation.ts'
import { type Quota, type Standing, tokensToReserve } from './rule.ts'

/** What the layer works with while one configuration lasts. */
export interface Shop {
  readonly limits: readonly Limit[]
  readonly leaseMs: number
  readonly host: Pick<Host, 'side' | 'store' | 'tokens' | 'clock'>
}

/** One quota that a call is held to, and where that is counted. */
export interface Asked {
  readonly quota: Quota
  readonly key: string
  readonly tag: string
}

/** What a call was given, or why it was given nothing. */
export interface Grant {
  /** Every quota it is held to, in the order of the limits. */
  readonly asked: readonly Asked[]
  readonly held: readonly Held[]
  /** Every quota whose level was looked at, as it stood before. */
  readonly standings: readonly Standing[]
  /** Absent where no limit counts tokens. */
  readonly estimate: Estimate | undefined
  readonly refusal: GatewayError | undefined
}

// Here only requests are counted: there is no body whose tokens would be known.
const requestsOnly: ReadonlySet<Route> = new Set(['models', 'passthrough'])

/** The quotas that a call is held to. Throws what parsing the body throws, where a key field reads it. */
export function askedOf(call: Call, { limits, host }: Shop): Asked[] {
  const tier = call.facts.principal?.tier ?? ''
  return limits.flatMap((limit) => {
    const quotas = limit.quotas(tier).filter((quota) => quota.of === 'requests' || !requestsOnly.has(call.route))
    if (quotas.length === 0) return []
    const { tag, key } = placeOf(limit, call, host.side)
    return quotas.map((quota) => ({ quota, tag, key: key(quota.of) }))
  })
}

/** The quotas that count tokens. */
export function tokenQuotasOf(asked: readonly Asked[]): Quota[] {
  return asked.map((each) => each.quota).filter((quota) => quota.of === 'tokens')
}

/** What a call wants of each quota. */
export function wantsOf(asked: readonly Asked[], estimate: Estimate | undefined): Want[] {
  return asked.map((each) => {
    const cost = each.quota.of === 'tokens' && estimate ? tokensToReserve(estimate, each.quota.capacity) : 1
    return { ...each, cost }
  })
}

/** The instant of a call, as reservations take it. */
export function momentOf(call: Call, { leaseMs }: Shop): Moment {
  return { now: call.now, leaseMs }
}
