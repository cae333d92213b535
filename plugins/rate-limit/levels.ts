import type { Bill } from './account.ts'
import { unitsEach } from './bucket.ts'
import type { Standing } from './rule.ts'

/** How the limits stand for a caller after its call: with the bill where it is known already, else with what is reserved. */
export function levelsAfter(standings: readonly Standing[], bill: Bill | undefined): Standing[] {
  return standings.map((standing) => {
    const { quota, cost, level } = standing
    if (quota.of === 'concurrent') return { ...standing, level: bill ? level : level + cost }
    const spent = bill ? bill[quota.of] : cost
    return { ...standing, level: level + spent * unitsEach }
  })
}
