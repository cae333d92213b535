import type { Call } from '../call.ts'
import type { Host } from '../host.ts'
import type { Mode } from '../layer.ts'
import type { Ending } from '../reply.ts'
import type { Grant } from './grant.ts'
import { createMeter, type Meter, tokensOfUsage } from './meter.ts'
import { type Held, putRight } from './reservation.ts'

/** What one call holds, from its grant to its end. */
export interface Account {
  readonly call: Call
  /** As it was asked; as it settles once an answer has come. */
  mode: Mode
  readonly grant: Grant
  readonly meter: Meter
  /** Redis was there when it was granted; what was taken from its stand-in must not be given back by Redis. */
  readonly fromStore: boolean
  /** A reply came back for it. */
  answered: boolean
  /** It is counted on a copy of the answer, which ends by itself after the call is released. */
  copied: boolean
  closed: boolean
  /** What it came to, once that is known. */
  bill: Bill | undefined
}

/** What of a call counts in the end. */
export interface Bill {
  readonly tokens: number
  readonly requests: number
}

/** Nothing of the call counts. */
export const free: Bill = { tokens: 0, requests: 0 }
/** The call counts, but used no tokens. */
export const oneRequest: Bill = { tokens: 0, requests: 1 }

/** What an account is opened with. */
export interface Opening {
  readonly grant: Grant
  readonly host: Pick<Host, 'tokens' | 'store'>
  /** How many characters of output are counted together. */
  readonly pieceLength: number
}

/** Opens the account of a call that was granted. */
export function openAccount(call: Call, mode: Mode, { grant, host, pieceLength }: Opening): Account {
  // Only where tokens are counted is anything pushed into it, so the request has been parsed.
  const meter = createMeter((text) => host.tokens.count(text, call.request.model), pieceLength)
  const fromStore = host.store.up()
  return { call, mode, grant, meter, fromStore, answered: false, copied: false, closed: false, bill: undefined }
}

/**
 * What an answered call costs, by how its answer ended: what the runner reported, else what went by. Nothing when nothing went by, or
 * when it failed and nobody counted. An observer neither counts that in the metrics nor teaches the estimator, which others rely on.
 */
export function billFor(account: Account, ending: Ending, host: Pick<Host, 'count' | 'tokens'>): Bill {
  const { meter, grant, call } = account
  const enforced = account.mode === 'enforce'
  if (!grant.estimate) return ending.kind === 'failed' ? free : oneRequest
  if (!meter.begun && ending.kind !== 'complete') return free
  const reported = tokensOfUsage(meter.usage)
  if (reported === undefined) {
    if (enforced) host.count('rate-limit.estimated-usage')
    return { tokens: grant.estimate.input + meter.output(), requests: 1 }
  }
  if (enforced && meter.usage && ending.kind === 'complete') host.tokens.learn(call.request, meter.usage)
  return { tokens: reported, requests: 1 }
}

/**
 * What a call costs that ends without its answer having been seen to end: it never came, the caller left, or, for an observer, it was of a
 * kind that is not copied.
 */
export function billAtRelease(account: Account, host: Pick<Host, 'count' | 'tokens'>): Bill {
  if (!account.answered) return free
  return billFor(account, { kind: account.mode === 'enforce' ? 'aborted' : 'complete' }, host)
}

/** Closes an account: puts every limit right. Throws `store_lost`. */
export async function closeAccount(account: Account, bill: Bill, host: Pick<Host, 'store' | 'clock'>): Promise<void> {
  account.closed = true
  const { store, clock } = host
  // Granted by a stand-in, settled in Redis: there nothing was taken, so all that was used is charged.
  const strayed = !account.fromStore && store.up()
  const held = strayed ? account.grant.held.map((each) => ({ ...each, cost: 0 })) : account.grant.held
  const used = ({ want }: Held): number => (want.quota.of === 'tokens' ? bill.tokens : bill.requests)
  await putRight(store, held, { now: clock.now(), used })
}
