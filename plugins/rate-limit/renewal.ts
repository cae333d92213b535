import type { Host } from '../host.ts'
import type { RateLimitConfig } from './config.ts'
import type { Ledger } from './ledger.ts'
import { renewLeases } from './reservation.ts'

/** Keeps the leases of calls under way from ending. */
export interface Renewal {
  stop(): void
}

/**
 * Renews the leases of all open accounts every third of a lease. Goes on after the configuration has ended as long as calls that began
 * under it are under way. Where nothing limits calls under way there is no timer.
 */
export function startRenewal(config: RateLimitConfig, ledger: Ledger, host: Host): Renewal {
  if (!limitsConcurrency(config)) return { stop() {} }
  const { leaseMs } = config
  const timer = setInterval(() => {
    if (host.closed.aborted && ledger.open.size === 0) clearInterval(timer)
    const open = [...ledger.open.values()].filter((account) => !account.closed)
    const leases = open.flatMap(({ grant }) => grant.held.filter(({ want }) => want.quota.of === 'concurrent'))
    if (leases.length === 0) return
    // A store that is away renews nothing; at worst a place is given twice once it is back.
    renewLeases(host.store, leases, { now: host.clock.now(), leaseMs }).catch(() => {})
  }, leaseMs / 3)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}

function limitsConcurrency({ limits, tiers }: RateLimitConfig): boolean {
  const all = [...limits, ...limits.flatMap((limit) => Object.values(limit.tiers)), ...Object.values(tiers)]
  return all.some((amounts) => amounts.concurrent)
}
