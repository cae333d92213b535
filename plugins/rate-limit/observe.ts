import type { Call } from '../call.ts'
import { type GatewayError, gatewayError } from '../errors.ts'
import type { LayerReads } from '../execution-context-facts.ts'
import { impossible } from './demand.ts'
import { askedOf, type Grant, momentOf, type Shop, tokenQuotasOf, wantsOf } from './grant.ts'
import { estimateFromReads, lossFromReads, standingsFromReads } from './reads.ts'
import { heldNothing, type Taken, takeAll, type Want } from './reservation.ts'
import { fits, overLimit } from './rule.ts'

/**
 * What a call holds that somebody else decides, and what would have been said of it here: over `reads` where they are given, else over the
 * own levels. It takes as if it were decided here; where there is too little left it takes nothing for the time being, so that no refused
 * call crowds out others, and is charged in full, over the limit, once its answer comes. Nobody is asked for an exact count. Throws
 * `store_lost` where that leaves nothing to judge by, and what parsing the body throws.
 */
export async function grantBeside(call: Call, shop: Shop, reads: LayerReads | undefined): Promise<Grant> {
  const asked = askedOf(call, shop)
  const quotas = tokenQuotasOf(asked)
  const estimate = quotas.length === 0 ? undefined : estimateFromReads(call, shop.host, reads)
  const wants = wantsOf(asked, estimate)
  const granted = (taken: Taken, refusal: GatewayError | undefined): Grant => {
    const { held = heldNothing(wants, call.now), standings } = taken
    return { asked, estimate, held, standings, refusal }
  }
  const never = estimate && impossible(estimate, quotas)
  const said = reads ? refusalOver(reads, wants, never) : never
  if (said) return granted(nothing, said)
  const take = takeAll(shop.host.store, wants, momentOf(call, shop))
  // What was said over the other side's levels stands, whether the own store is there or not.
  if (reads) return granted(await take.catch(() => nothing), undefined)
  const taken = await take
  return granted(taken, taken.held ? undefined : overLimit(taken.standings, {}))
}
const nothing: Taken = { held: undefined, standings: [] }

function refusalOver(
  reads: LayerReads,
  wants: readonly Want[],
  never: GatewayError | undefined,
): GatewayError | undefined {
  const loss = lossFromReads(reads)
  if (loss === 'open') return undefined
  if (loss === 'closed') return gatewayError('store_lost', 'the store was away where the call was decided')
  if (never) return never
  const standings = standingsFromReads(wants, reads)
  return standings.every(fits) ? undefined : overLimit(standings, {})
}
