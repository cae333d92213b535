import type { Call } from '../call.ts'
import { askedOf, type Shop, wantsOf } from './grant.ts'
import { heldNothing, putRight } from './reservation.ts'

/** Charges a call to this side's counters, one request and the tokens it used, whatever is left there. Throws `store_lost`. */
export async function chargeCall(call: Call, usedTokens: number, shop: Shop): Promise<void> {
  const tokens = Number.isFinite(usedTokens) ? Math.max(0, Math.round(usedTokens)) : 0
  const { host } = shop
  const wants = wantsOf(askedOf(call, shop), undefined)
  const now = host.clock.now()
  await putRight(host.store, heldNothing(wants, now), {
    now,
    used: ({ want }) => (want.quota.of === 'tokens' ? tokens : 1),
  })
}
