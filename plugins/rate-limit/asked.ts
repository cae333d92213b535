import { canonicalDigest } from '../canonical.ts'
import { createQuota, type Limit } from './limits.ts'
import type { Measure, Quota } from './rule.ts'

/** What a caller asks of one configured limit: to be held to less. A burst of more than an hour's worth counts as an hour's worth. */
export interface AskedConfig {
  /** The name of the configured limit. */
  readonly limit: string
  readonly tokens_per_minute?: number
  readonly burst_capacity?: number
  readonly requests_per_minute?: number
}

// Buckets that take hours to fill again would stay in the store for hours, as many as a caller likes to name.
const mostBurstMinutes = 60

/**
 * A limit of its own for what a caller asks, counted by the same key fields: beside the configured one, which counts the call as well, so
 * that asking gives nothing away. It holds what is lower than the configured amounts of a tier, and nothing for tiers that have less
 * already. Undefined when that is all of them.
 */
export function askedLimit(own: Limit, asked: AskedConfig): Limit | undefined {
  // Other amounts are another bucket: what one caller of a tenant asks must not be charged to what another one does.
  const name = `asked-${canonicalDigest(asked).slice(0, 16)}`
  const lowered = new Map(own.variants.map((quotas) => [quotas, loweredQuotas(name, quotas, asked)]))
  const variants = [...lowered.values()]
  if (variants.every((quotas) => quotas.length === 0)) return undefined
  return { ...own, name, variants, quotas: (tier) => lowered.get(own.quotas(tier)) ?? [] }
}

function loweredQuotas(name: string, own: readonly Quota[], asked: AskedConfig): Quota[] {
  const { tokens_per_minute: tokens, requests_per_minute: requests, burst_capacity: burst } = asked
  const find = (of: Measure): Quota | undefined => own.find((quota) => quota.of === of)
  // As in the configuration: a burst is of tokens where tokens are limited, else of requests.
  const burstOf: Measure = find('tokens') || tokens ? 'tokens' : 'requests'
  const each = [
    ['tokens', tokens],
    ['requests', requests],
  ] as const
  return each.flatMap(([of, perMinute]) => {
    const amounts = loweredAmounts(find(of), { perMinute, capacity: of === burstOf ? burst : undefined })
    return amounts ? [createQuota(name, of, amounts)] : []
  })
}

interface Wish {
  readonly perMinute: number | undefined
  readonly capacity: number | undefined
}

function loweredAmounts(own: Quota | undefined, wish: Wish): Pick<Quota, 'perMinute' | 'capacity'> | undefined {
  if (!own) {
    if (wish.perMinute === undefined) return undefined
    return { perMinute: wish.perMinute, capacity: burstOver(wish.perMinute, wish.capacity ?? wish.perMinute) }
  }
  const slower = wish.perMinute !== undefined && wish.perMinute < own.perMinute ? wish.perMinute : undefined
  const perMinute = slower ?? own.perMinute
  // A burst that is not said is what comes back in a minute, as in the configuration.
  const burst = Math.min(own.capacity, wish.capacity ?? slower ?? own.capacity)
  const capacity = slower === undefined ? burst : burstOver(slower, burst)
  return perMinute < own.perMinute || capacity < own.capacity ? { perMinute, capacity } : undefined
}

function burstOver(perMinute: number, burst: number): number {
  return Math.min(burst, perMinute * mostBurstMinutes)
}
