import type { Route } from '../chat.ts'
import { fits, type Measure, remainingOf, resetMsOf, type Standing } from './rule.ts'

/**
 * What a caller is told about its limits: the headers of its dialect (OpenAI `x-ratelimit-*`, Anthropic `anthropic-ratelimit-*`), of the
 * quota that is nearest to its end, and `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-10) of all.
 */
export function limitHeaders(standings: readonly Standing[], route: Route, now: number): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const measure of ['requests', 'tokens'] as const) {
    const tightest = tightestOf(standings, measure)
    if (!tightest) continue
    const limit = String(tightest.quota.capacity)
    const remaining = String(remainingOf(tightest))
    const resetMs = resetMsOf(tightest)
    if (route === 'messages') {
      headers[`anthropic-ratelimit-${measure}-limit`] = limit
      headers[`anthropic-ratelimit-${measure}-remaining`] = remaining
      headers[`anthropic-ratelimit-${measure}-reset`] = instant(now + resetMs)
    } else {
      headers[`x-ratelimit-limit-${measure}`] = limit
      headers[`x-ratelimit-remaining-${measure}`] = remaining
      headers[`x-ratelimit-reset-${measure}`] = duration(resetMs)
    }
  }
  if (standings.length === 0) return headers
  headers['ratelimit-policy'] = standings.map(({ quota }) => quota.policy).join(', ')
  headers['ratelimit'] = standings.map(rateLimitItem).join(', ')
  return headers
}

/** Of the quotas that count this, the one that is nearest to its end. */
export function tightestOf(standings: readonly Standing[], measure: Measure): Standing | undefined {
  let tightest: Standing | undefined
  let least = Number.POSITIVE_INFINITY
  for (const standing of standings) {
    if (standing.quota.of !== measure) continue
    // One that the call does not fit into is nearer to its end than any it does.
    const share = remainingOf(standing) / standing.quota.capacity - (fits(standing) ? 0 : 1)
    if (share >= least) continue
    least = share
    tightest = standing
  }
  return tightest
}

function rateLimitItem(standing: Standing): string {
  const left = `${standing.quota.quoted};r=${remainingOf(standing)}`
  return standing.quota.of === 'concurrent' ? left : `${left};t=${Math.ceil(resetMsOf(standing) / 1000)}`
}

/** Milliseconds as OpenAI writes a duration: `120ms`, `1.5s`, `6m0s`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${ms}ms`
  if (ms < 60_000) return `${ms / 1000}s`
  const seconds = Math.ceil(ms / 1000)
  return `${Math.floor(seconds / 60)}m${seconds % 60}s`
}

/** An instant as RFC 3339 in whole seconds, rounded up. */
function instant(ms: number): string {
  return `${new Date(Math.ceil(ms / 1000) * 1000).toISOString().slice(0, 19)}Z`
}
