import type { Call } from '../call.ts'
import type { LayerReads } from '../execution-context-facts.ts'
import type { Host } from '../host.ts'
import { type Estimate, estimateFrom, estimateOf } from './demand.ts'
import type { Grant } from './grant.ts'
import type { Want } from './reservation.ts'
import { fits, type Standing } from './rule.ts'

// With the longest numbers and names so many levels stay within 512 bytes, beside the estimate.
const mostLevels = 20

/**
 * The values that a decision rested on: `in` and `out`, the tokens it reckoned with, and `q0`, `q1`, … , the level of each quota before the
 * call, in the order of the limits (60,000ths of a token or request, or calls under way). Levels that there is no room for are ones that
 * the call fitted: a level that is not said counts as nothing spent, which says the same.
 */
export function readsOf({ asked, standings, estimate }: Grant): LayerReads | undefined {
  const levels = standings.map((standing) => ({
    name: `q${asked.findIndex(({ quota }) => quota === standing.quota)}`,
    standing,
  }))
  const said =
    levels.length <= mostLevels
      ? levels
      : levels.toSorted((a, b) => Number(fits(a.standing)) - Number(fits(b.standing))).slice(0, mostLevels)
  if (said.length === 0 && !estimate) return undefined
  return {
    ...(estimate ? { in: estimate.input, out: estimate.output } : {}),
    ...Object.fromEntries(said.map(({ name, standing }) => [name, standing.level])),
  }
}

/** The reads of a decision for which the store was away: whether that let the call pass. */
export function readsOfLoss(onLoss: 'open' | 'closed'): LayerReads {
  return { lost: onLoss }
}

/** Whether the store was away for the decision, and what came of that. */
export function lossFromReads({ lost }: LayerReads): 'open' | 'closed' | undefined {
  return lost === 'open' || lost === 'closed' ? lost : undefined
}

/** How the quotas stood for the side that decided. */
export function standingsFromReads(wants: readonly Want[], reads: LayerReads): Standing[] {
  return wants.map(({ quota, cost }, index) => ({ quota, cost, level: countFrom(reads[`q${index}`]) ?? 0 }))
}

/** The tokens that the deciding side reckoned with, else the own estimate. Throws what parsing the body throws. */
export function estimateFromReads(call: Call, host: Pick<Host, 'tokens'>, reads: LayerReads | undefined): Estimate {
  const input = countFrom(reads?.['in'])
  const output = countFrom(reads?.['out'])
  if (input === undefined || output === undefined) return estimateOf(call, host)
  return estimateFrom(call, { input, output, error: 0 })
}

function countFrom(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? value : undefined
}
