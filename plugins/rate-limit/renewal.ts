import type { Account } from './account.ts'
import type { Shop } from './decide.ts'
import { renewLeases } from './reservation.ts'

/** Keeps the leases of calls under way from ending. */
export interface Renewal {
  stop(): void
}

/** Renews, every third of a lease, those of all accounts that are open. Starts no timer where nothing limits calls under way. */
export function startRenewal(
  accounts: ReadonlyMap<string, Account>,
  shop: Shop & { host: { closed?: AbortSignal } },
): Renewal {
  const { limits, leaseMs, host } = shop
  const timer = setInterval(() => {
    const open = [...accounts.values()].filter((account) => !account.closed)
    const leases = open.flatMap(({ grant }) => grant.held.filter(({ want }) => want.quota.of === 'concurrent'))
    // A store that is away renews nothing; what it forgets is at worst a slot given twice.
    if (leases.length > 0) renewLeases(host.store, leases, { now: host.clock.now(), leaseMs }).catch(() => {})
  }, leaseMs / 3)
  timer.unref()
  void limits
  return { stop: () => clearInterval(timer) }
}
