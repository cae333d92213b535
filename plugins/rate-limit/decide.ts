import type { Call } from '../call.ts'
import type { Route } from '../chat.ts'
import type { Host } from '../host.ts'
import type { Mode } from '../layer.ts'
import { type Estimate, estimateOf, exactly, impossible, inDoubt } from './demand.ts'
import { placeOf } from './key.ts'
import { limitHeaders } from './limit-headers.ts'
import type { Limit } from './limits.ts'
import { type Held, putRight, type Taken, takeAll, type Want } from './reservation.ts'
import { leastTokens, overLimit, type Quota, remainingOf, type Standing, tokensToReserve } from './rule.ts'

/** What the layer works with while one configuration lasts. */
export interface Shop {
  readonly limits: readonly Limit[]
  readonly leaseMs: number
  readonly host: Pick<Host, 'store' | 'tokens' | 'clock'>
}

/** What a call was given. */
export interface Grant {
  readonly held: readonly Held[]
  readonly standings: readonly Standing[]
  /** Absent where no limit counts tokens. */
  readonly estimate: Estimate | undefined
}

// Here only requests are counted: there is no body whose tokens would be known.
const requestsOnly: ReadonlySet<Route> = new Set(['models', 'passthrough'])

interface Asked {
  readonly quota: Quota
  readonly key: string
  readonly tag: string
}

/**
 * Takes from every limit what the call will probably use. Throws `rate_limited`, `exceeds_rate_limit`, `store_lost`, and what parsing the
 * body throws.
 */
export async function grantFor(call: Call, mode: Mode, shop: Shop): Promise<Grant> {
  const asked = askedOf(call, mode, shop.limits)
  const quotas = asked.map((each) => each.quota).filter((quota) => quota.of === 'tokens')
  if (quotas.length === 0)
    return granted(await takeAll(shop.host.store, wantsOf(asked, undefined), momentOf(call, shop)), call)
  const inquiry = { call, mode, host: shop.host }
  let estimate = estimateOf(call, shop.host)
  // Next to a limit the count decides between a passing refusal, a final one and none; only there it is worth a question.
  if (quotas.some(({ capacity }) => inDoubt(estimate, leastTokens(estimate), capacity)))
    estimate = await exactly(estimate, inquiry)
  const never = impossible(estimate, quotas)
  if (never) throw never
  let taken = await takeAll(shop.host.store, wantsOf(asked, estimate), momentOf(call, shop))
  const close = taken.standings.some(
    (each) => each.quota.of === 'tokens' && inDoubt(estimate, each.cost, remainingOf(each)),
  )
  if (close) {
    const exact = await exactly(estimate, inquiry)
    if (exact.error === 0) {
      if (taken.held) await putRight(shop.host.store, taken.held, { now: call.now, used: () => 0 })
      estimate = exact
      taken = await takeAll(shop.host.store, wantsOf(asked, estimate), momentOf(call, shop))
    }
  }
  return { ...granted(taken, call), estimate }
}

function granted({ held, standings }: Taken, call: Call): Grant {
  if (!held) throw overLimit(standings, limitHeaders(standings, call.route, call.now))
  return { held, standings, estimate: undefined }
}

function momentOf(call: Call, shop: Shop): { now: number; leaseMs: number } {
  return { now: call.now, leaseMs: shop.leaseMs }
}

function askedOf(call: Call, mode: Mode, limits: readonly Limit[]): Asked[] {
  const tier = call.facts.principal?.tier ?? ''
  return limits.flatMap((limit) => {
    const quotas = limit.quotas(tier).filter((quota) => quota.of === 'requests' || !requestsOnly.has(call.route))
    if (quotas.length === 0) return []
    const { tag, key } = placeOf(limit, call, mode)
    return quotas.map((quota) => ({ quota, tag, key: key(quota.of) }))
  })
}

function wantsOf(asked: readonly Asked[], estimate: Estimate | undefined): Want[] {
  return asked.map((each) => {
    const cost = each.quota.of === 'tokens' && estimate ? tokensToReserve(estimate, each.quota.capacity) : 1
    return { ...each, cost }
  })
}
