import type { Account } from './account.ts'
import type { Extend } from './budget.ts'
import type { Shop } from './grant.ts'
import { putRight, takeAll, type Want } from './reservation.ts'
import { remainingOf } from './rule.ts'

/** More tokens for a stream under way: as many as asked, or what is left, or 0. They are settled with the rest at its end. */
export function extension(account: Account, { host, leaseMs }: Shop): Extend {
  const held = account.grant.held.filter(({ want }) => want.quota.of === 'tokens')
  const take = async (tokens: number): Promise<number> => {
    const wants = held.map(({ want }): Want => ({ ...want, cost: tokens }))
    const taken = await takeAll(host.store, wants, { now: host.clock.now(), leaseMs })
    if (taken.held && account.closed) {
      // The stream ended meanwhile, and its account was settled without this.
      await putRight(host.store, taken.held, { now: host.clock.now(), used: () => 0 })
      return 0
    }
    if (taken.held) {
      for (const each of held) each.cost += tokens
      return tokens
    }
    return -Math.min(...taken.standings.map(remainingOf))
  }
  return async (tokens) => {
    const first = await take(tokens)
    // Minus what is left: that much may be had, unless somebody else was faster.
    return first < 0 ? Math.max(0, await take(-first)) : Math.max(0, first)
  }
}
