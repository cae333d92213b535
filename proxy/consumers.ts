import type { DeprecatedName } from './deprecated-values.ts'
import type { SunsetTier } from './sunset.ts'

/** One call that asked for old headers, and whose caller had the right. */
export interface ConsumerCall {
  readonly tenant: string
  /** The caller inside its tenant: the principal's id. */
  readonly client: string
  /** Its `User-Agent`, as it came. */
  readonly userAgent: string | undefined
  readonly headers: readonly DeprecatedName[]
  readonly tier: SunsetTier
  /** It was turned away for it. */
  readonly shed: boolean
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** Somebody who still asks for old headers. */
export interface Consumer {
  readonly tenant: string
  readonly client: string
  /** First product of its `User-Agent`, such as `openai-python`; `unknown` where that says nothing. */
  readonly agent: string
  /** The headers it has asked for. */
  readonly headers: readonly DeprecatedName[]
  /** Milliseconds since the epoch. */
  readonly firstSeen: number
  readonly lastSeen: number
  readonly count: number
  /** How often it was warned: answers that said that the last thirds of the sunset have begun, or that the headers are gone. */
  readonly warned: number
  readonly shed: number
  /** The tier at its last call. */
  readonly tier: SunsetTier
}

/** Who still asks for old headers: the 1,000 that asked last, for the life of the process. */
export interface Consumers {
  /** True when it is news: nobody known, or known in an earlier tier. */
  note(call: ConsumerCall): boolean
  /** Those who asked last first. */
  list(): readonly Consumer[]
  /** Most that are remembered. */
  readonly capacity: number
  /** How many were forgotten because others came. */
  readonly forgotten: number
}

/** What a table of consumers shows at the admin port. */
export interface ConsumersView {
  readonly consumers: readonly Consumer[]
  /** Most that are remembered. */
  readonly capacity: number
  readonly forgotten: number
}

/** Most consumers that are remembered. */
export const consumerCapacity = 1_000

/** The table as the admin port shows it. */
export function viewOfConsumers(table: Consumers): ConsumersView {
  return { consumers: table.list(), capacity: table.capacity, forgotten: table.forgotten }
}

/** Makes the table. Nothing a caller writes goes into it but names that were verified and the cleaned family of its user agent. */
export function createConsumers(capacity = consumerCapacity): Consumers {
  // In the order of the last call: the first is the one not seen for longest.
  const known = new Map<string, Consumer>()
  let forgotten = 0
  return {
    note(call) {
      const consumer = consumerFrom(call)
      const key = JSON.stringify([consumer.tenant, consumer.client, consumer.agent])
      const before = known.get(key)
      known.delete(key)
      known.set(key, before ? merged(before, consumer) : consumer)
      if (known.size > capacity) {
        const [oldest] = known.keys()
        known.delete(oldest as string)
        forgotten++
      }
      return before?.tier !== consumer.tier
    },
    list: () => [...known.values()].toReversed(),
    capacity,
    get forgotten() {
      return forgotten
    },
  }
}

function consumerFrom({ tenant, client, userAgent, headers, tier, shed, at }: ConsumerCall): Consumer {
  const warned = tier === 'warned' || tier === 'last' || tier === 'gone'
  return {
    tenant: bounded(tenant),
    client: bounded(client),
    agent: agentFamily(userAgent),
    headers: [...headers].sort(),
    firstSeen: at,
    lastSeen: at,
    count: 1,
    warned: warned ? 1 : 0,
    shed: shed ? 1 : 0,
    tier,
  }
}

function merged(before: Consumer, now: Consumer): Consumer {
  return {
    ...now,
    headers: [...new Set([...before.headers, ...now.headers])].sort(),
    firstSeen: before.firstSeen,
    count: before.count + 1,
    warned: before.warned + now.warned,
    shed: before.shed + now.shed,
  }
}

function bounded(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, 128)
}

/**
 * The family of a user agent: its first product without version (RFC 9110 §10.1.5). What looks like a credential rather than a name (a key's
 * prefix, a long run of letters and digits) is `unknown`.
 */
export function agentFamily(userAgent: string | undefined): string {
  const product = /^\s*([A-Za-z][A-Za-z0-9._-]{0,39})(?:\/|\s|$)/.exec(userAgent ?? '')?.[1]
  if (product === undefined || /^((sk|pk|rk|fg|key|bearer|basic)([-_.]|$)|eyJ)/i.test(product)) return 'unknown'
  return /[A-Za-z0-9]{20,}/.test(product) || /\d{6,}/.test(product) ? 'unknown' : product.toLowerCase()
}
