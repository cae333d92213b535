import type { Call } from '../call.ts'
import { absent, readPath } from '../path.ts'
import { askedOf, type Shop, wantsOf } from './grant.ts'
import { type Held, heldNothing, putRight } from './reservation.ts'

/** Longest time that what was used elsewhere waits before it stands in the counters, in milliseconds. */
export const mostDelayMs = 100

/** The calls that were limited elsewhere, on their way to this side's counters. A process that is killed loses what came in the last 100 ms. */
export interface Charges {
  /**
   * Charges one request and the tokens it used, whatever is left there. Calls of the same caller are summed and posted together: after 100 ms,
   * or when {@link Charges.post} is called. Throws what parsing the body throws, where a key field reads it.
   */
  add(call: Call, usedTokens: number): void
  /** Posts what waits now: before a decision, which must see it, and at the end. Nothing is done where nothing waits. */
  post(): void
}

/** How a posting is followed: `call` is one of those that it is for. Rejects with `store_lost`. */
export type Posted = (posting: Promise<void>, call: Call) => void

/** What waits for one bucket. */
interface Sum {
  readonly held: Held
  used: number
}

interface Waiting {
  readonly since: number
  /** The instant of the last charge. */
  until: number
  readonly call: Call
  /** By key of the bucket. */
  readonly sums: Map<string, Sum>
  /** The buckets of a caller, by what tells callers apart. */
  readonly byCaller: Map<string, readonly Sum[]>
}

/** Makes {@link Charges}. Once the configuration has ended nothing waits any more. */
export function createCharges(shop: Shop, closed: AbortSignal, posted: Posted): Charges {
  const nameOf = shop.limits.some(readsBody) ? () => undefined : (call: Call) => nameOfCaller(call, shop)
  let waiting: Waiting | undefined
  let timer: NodeJS.Timeout | undefined
  const post = (): void => {
    clearTimeout(timer)
    if (!waiting) return
    const { sums, until, call } = waiting
    waiting = undefined
    posted(posting(shop, [...sums.values()], until), call)
  }
  const begun = (call: Call, now: number): Waiting => {
    timer = setTimeout(post, mostDelayMs).unref()
    return { since: now, until: now, call, sums: new Map(), byCaller: new Map() }
  }
  closed.addEventListener('abort', post, { once: true })
  return {
    add(call, usedTokens) {
      const tokens = Number.isFinite(usedTokens) ? Math.max(0, Math.round(usedTokens)) : 0
      const now = shop.host.clock.now()
      if (waiting && now - waiting.since > mostDelayMs) post()
      waiting ??= begun(call, now)
      waiting.until = now
      for (const sum of sumsOf(call, nameOf(call), { shop, waiting }))
        sum.used += sum.held.want.quota.of === 'tokens' ? tokens : 1
      if (closed.aborted) post()
    },
    post,
  }
}

async function posting({ host }: Shop, sums: readonly Sum[], now: number): Promise<void> {
  const byHeld = new Map(sums.map((sum) => [sum.held, sum.used]))
  await putRight(host.store, [...byHeld.keys()], { now, used: (held) => byHeld.get(held) ?? 0 })
}

interface Book {
  readonly shop: Shop
  readonly waiting: Waiting
}

function sumsOf(call: Call, name: string | undefined, { shop, waiting }: Book): readonly Sum[] {
  const known = name === undefined ? undefined : waiting.byCaller.get(name)
  if (known) return known
  const made = heldNothing(wantsOf(askedOf(call, shop), undefined), waiting.since).map((held): Sum => {
    const sum = waiting.sums.get(held.want.key) ?? { held, used: 0 }
    waiting.sums.set(held.want.key, sum)
    return sum
  })
  if (name !== undefined) waiting.byCaller.set(name, made)
  return made
}

function readsBody({ paths }: Shop['limits'][number]): boolean {
  return paths.some(({ source }) => source === 'body')
}

/**
 * What tells callers apart before any key is made of it: two calls with one name are counted in the same buckets. Undefined where a key field
 * is no text. Lengths stand before the texts, so that no text can pass for two.
 */
function nameOfCaller(call: Call, { limits }: Shop): string | undefined {
  const tier = call.facts.principal?.tier ?? ''
  let name = `${call.route} ${tier.length}:${tier}`
  for (const { paths } of limits) {
    for (const path of paths) {
      const value = readPath(path, call)
      if (value !== absent && typeof value !== 'string') return undefined
      name += value === absent ? ' -' : ` ${value.length}:${value}`
    }
  }
  return name
}
