import { type GatewayError, gatewayError } from '../errors.ts'
import { unitsEach } from './bucket.ts'

/** What a quota counts. */
export type Measure = 'tokens' | 'requests' | 'concurrent'

/** One thing that a limit counts, with how much of it there is. */
export interface Quota {
  readonly limit: string
  readonly of: Measure
  /** What comes back in a minute; 0 for calls under way, which come back when they end. */
  readonly perMinute: number
  /** The most that can be spent at once. */
  readonly capacity: number
  /** Its item of `RateLimit-Policy`. */
  readonly policy: string
  /** Its name as `RateLimit` quotes it. */
  readonly quoted: string
}

/** A quota for one call: what the call wants of it, and how the bucket stood when it was asked. */
export interface Standing {
  readonly quota: Quota
  /** Tokens, requests or calls. */
  readonly cost: number
  /** Before the call took anything: units of debt (a 60,000th each), or calls under way. */
  readonly level: number
}

/** What is left of a quota, in whole tokens, requests or calls; never below 0. */
export function remainingOf({ quota, level }: Pick<Standing, 'quota' | 'level'>): number {
  const left = quota.of === 'concurrent' ? quota.capacity - level : Math.floor(quota.capacity - level / unitsEach)
  return Math.max(0, left)
}

/** Whether the call fits into the quota as it stood. */
export function fits({ quota, cost, level }: Standing): boolean {
  if (quota.of === 'concurrent') return level + cost <= quota.capacity
  return level + cost * unitsEach <= quota.capacity * unitsEach
}

/** Milliseconds until nothing of the quota is spent any more. */
export function resetMsOf({ quota, level }: Pick<Standing, 'quota' | 'level'>): number {
  return quota.of === 'concurrent' ? 0 : Math.ceil(level / quota.perMinute)
}

/** Milliseconds until the call would fit. Nobody knows when a call under way ends, so there it is one second. */
export function waitMsOf({ quota, cost, level }: Standing): number {
  if (quota.of === 'concurrent') return 1000
  return Math.max(0, Math.ceil((level - (quota.capacity - cost) * unitsEach) / quota.perMinute))
}

/** What a call wants of a tokens quota. */
export interface Demand {
  /** Prompt tokens, as counted or estimated. */
  readonly input: number
  /** Output tokens that are expected. */
  readonly output: number
  /** The request itself says how much output it wants (or is of a kind that has none), so all of it must fit. */
  readonly stated: boolean
}

/** The tokens that must fit at once, or the call can never pass. */
export function leastTokens({ input, output, stated }: Demand): number {
  return stated ? input + output : input + 1
}

/** What a call reserves: all that it may use, but no more than there ever is where that is only a guess. */
export function tokensToReserve(demand: Demand, capacity: number): number {
  return Math.min(demand.input + demand.output, Math.max(capacity, leastTokens(demand)))
}

/** Refuses for good a call that can never fit: `exceeds_rate_limit`, a client error without `Retry-After`. */
export function neverFits(demand: Demand, quota: Quota): GatewayError {
  const asks = demand.stated && demand.output > 0 ? ` and asks for up to ${demand.output} more` : ''
  return gatewayError(
    'exceeds_rate_limit',
    `this request can never fit: its prompt has about ${demand.input} tokens${asks}, and limit "${quota.limit}" admits at most ` +
      `${quota.capacity} tokens at once`,
  )
}

/** Refuses for now: `rate_limited`, with the time after which the call would fit everywhere. */
export function overLimit(standings: readonly Standing[], headers: Readonly<Record<string, string>>): GatewayError {
  const short = standings.filter((standing) => !fits(standing))
  const retryAfterMs = Math.max(...short.map(waitMsOf))
  return gatewayError('rate_limited', sayShort(short[0]), { retryAfterMs, headers })
}

function sayShort(standing: Standing | undefined): string {
  if (!standing) return 'rate limit reached'
  const { quota, cost } = standing
  if (quota.of === 'concurrent') {
    return `rate limit "${quota.limit}" reached: ${quota.capacity} concurrent calls are under way already`
  }
  const left = remainingOf(standing)
  return `rate limit "${quota.limit}" reached: ${cost} ${quota.of} needed, ${left} of ${quota.capacity} left, ${quota.perMinute} come back each minute`
}
