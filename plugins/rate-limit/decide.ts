import type { Call } from '../call.ts'
import { type Estimate, estimateOf, exactly, impossible, inDoubt } from './demand.ts'
import { type Asked, askedOf, type Grant, momentOf, type Shop, tokenQuotasOf, wantsOf } from './grant.ts'
import { limitHeaders } from './limit-headers.ts'
import { putRight, type Taken, takeAll } from './reservation.ts'
import { leastTokens, overLimit, remainingOf } from './rule.ts'

/** Takes from every limit what the call will probably use, or says why not. Throws `store_lost`, and what parsing the body throws. */
export async function grantFor(call: Call, shop: Shop): Promise<Grant> {
  const { host } = shop
  const asked = askedOf(call, shop)
  const quotas = tokenQuotasOf(asked)
  const take = (estimate: Estimate | undefined): Promise<Taken> =>
    takeAll(host.store, wantsOf(asked, estimate), momentOf(call, shop))
  if (quotas.length === 0) return granted(call, await take(undefined), { asked, estimate: undefined })
  let estimate = estimateOf(call, host)
  // Next to a limit the count decides between a passing refusal, a final one and none; only there it is worth a question.
  if (quotas.some(({ capacity }) => inDoubt(estimate, leastTokens(estimate), capacity)))
    estimate = await exactly(estimate, call, host)
  const never = impossible(estimate, quotas)
  if (never) return { asked, estimate, held: [], standings: [], refusal: never }
  let taken = await take(estimate)
  const close = taken.standings.some(
    (each) => each.quota.of === 'tokens' && inDoubt(estimate, each.cost, remainingOf(each)),
  )
  if (close) {
    const exact = await exactly(estimate, call, host)
    if (exact.error === 0) {
      if (taken.held) await putRight(host.store, taken.held, { now: call.now, used: () => 0 })
      estimate = exact
      taken = await take(estimate)
    }
  }
  return granted(call, taken, { asked, estimate })
}

interface Question {
  readonly asked: readonly Asked[]
  readonly estimate: Estimate | undefined
}

function granted(call: Call, { held, standings }: Taken, question: Question): Grant {
  if (held) return { ...question, held, standings, refusal: undefined }
  const refusal = overLimit(standings, limitHeaders(standings, call.route, call.now))
  return { ...question, held: [], standings, refusal }
}
