import type { Chunk } from '../chat.ts'
import type { Host } from '../host.ts'
import type { Ending, Reply } from '../reply.ts'
import { type Account, billFor } from './account.ts'
import { createBudget } from './budget.ts'
import { extension } from './extension.ts'
import type { Shop } from './grant.ts'
import type { Ledger } from './ledger.ts'

/** What an answer is watched with. */
export interface Watching {
  readonly ledger: Ledger
  readonly shop: Shop
  readonly host: Host
  readonly cutStreams: boolean
}

/**
 * The reply, counted while it goes by and settled at its end. Where no limit counts tokens it is not parsed for it; with `cutStreams` a
 * stream that uses up what the limits leave ends with `rate_limited` in band, unless it is an observer's copy.
 */
export function watched(reply: Reply, account: Account, { ledger, shop, host, cutStreams }: Watching): Reply {
  const { estimate, held } = account.grant
  const end = (ending: Ending): void => ledger.close(account, billFor(account, ending, host))
  if (!estimate) return reply.observe({ end })
  const uncut = !cutStreams || !reply.streamed || account.mode === 'observe'
  if (uncut) return reply.observe({ chunk: account.meter.push, end })
  const costs = held.filter(({ want }) => want.quota.of === 'tokens').map(({ cost }) => cost)
  const budget = createBudget(Math.min(...costs), extension(account, shop))
  const push = (chunk: Chunk): Chunk => {
    account.meter.push(chunk)
    try {
      budget.spend(estimate.input + account.meter.output())
    } catch (reason) {
      host.count('rate-limit.cut')
      throw reason
    }
    return chunk
  }
  return reply.through({ push }).observe({ end })
}
