import type { Reply } from '../reply.ts'
import type { Account, Bill } from './account.ts'
import { free } from './account.ts'
import { unitsEach } from './bucket.ts'
import type { Standing } from './rule.ts'

/** What is known of a call's cost when its answer begins. */
export interface Outcome {
  /** Absent: the answer has to be watched to its end. */
  readonly bill: Bill | undefined
}

// Statuses that are the runner's fault or its refusal to work, not the caller's mistake.
const runnersFault = (status: number): boolean => status >= 500 || [401, 403, 408, 429].includes(status)

/** What the beginning of an answer says: a cached one costs a request, a failed one nothing, any other has to be seen. */
export function outcomeOf(reply: Reply, account: Account): Outcome {
  if (reply.source === 'cache') return { bill: { tokens: 0, requests: 1 } }
  if (reply.status >= 400) return { bill: runnersFault(reply.status) ? free : { tokens: 0, requests: 1 } }
  if (reply.source === 'layer' && account.grant.estimate === undefined) return { bill: { tokens: 0, requests: 1 } }
  return { bill: undefined }
}

/** How the limits stand for the caller after its call: with the bill where it is known, else with what is reserved. */
export function levelsAfter(standings: readonly Standing[], bill: Bill | undefined): Standing[] {
  return standings.map((standing) => {
    const { quota, cost, level } = standing
    const spent = bill ? (quota.of === 'tokens' ? bill.tokens : bill.requests) : cost
    return { ...standing, level: level + spent * (quota.of === 'concurrent' ? 1 : unitsEach) }
  })
}
