import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type Side, sideKeys } from '../host.ts'
import type { Store } from '../store.ts'
import type { Entry } from './entry.ts'

/** How long a lease lives when its holder does not renew it: so long a replica that was killed holds others up, in milliseconds. */
const leaseMs = 3_000
/** How long a lease is kept after its answer was stored, so that who missed the answer a moment ago finds it, in milliseconds. */
const afterglowMs = 500
const firstPollMs = 20
const longestPollMs = 250

/** The right to ask a question for all replicas. */
export interface Lease {
  /** Gives it back; after a stored answer it lingers for a moment. Never throws. */
  end(stored: boolean): void
}

/** Leases over the shared store: of many replicas with the same cold question, one asks. */
export interface Leases {
  /**
   * Waits until this process may ask, or the answer is there, whichever is first: `first` where it is there at once. Undefined when neither
   * happened in time, or the store is away: then it asks without a lease. Looking and claiming go out together, so that a cold question
   * costs one round trip; a claim that was not needed is given back.
   */
  take(digest: string, wait: LeaseWait): Promise<Lease | Found | undefined>
  close(): void
}

/** The answer, and whether the first look found it. */
export interface Found {
  readonly entry: Entry
  readonly first: boolean
}

/** How a lease is waited for. */
export interface LeaseWait {
  /** Looks whether the answer has come. */
  look(): Promise<Entry | undefined>
  readonly waitMs: number
  readonly signal: AbortSignal
}

/** Makes the {@link Leases} of one side over a store that replicas share. */
export function createLeases(store: Store, side: Side): Leases {
  const owner = Buffer.from(randomUUID())
  const renewals = new Set<NodeJS.Timeout>()
  const hold = (key: string): Lease => {
    const renewal = setInterval(() => void store.set(key, owner, leaseMs).catch(ignored), leaseMs / 3).unref()
    renewals.add(renewal)
    return {
      end(stored) {
        if (!renewals.delete(renewal)) return
        clearInterval(renewal)
        const ended = stored ? store.set(key, owner, afterglowMs) : store.delete(key)
        ended.catch(ignored)
      },
    }
  }
  return {
    async take(digest, { look, waitMs, signal }) {
      const key = `cache:${sideKeys[side]}:l:${digest.slice(0, 32)}`
      const until = performance.now() + waitMs
      for (let pollMs = firstPollMs; ; pollMs = Math.min(pollMs * 2, longestPollMs)) {
        const claiming = store.up()
          ? store.add(key, owner, leaseMs).then((mine) => (mine ? hold(key) : undefined))
          : undefined
        const [entry, lease] = await both(look(), claiming)
        if (entry) return { entry, first: pollMs === firstPollMs }
        if (!claiming) return undefined
        if (lease) return lease
        if (signal.aborted || performance.now() + pollMs > until) return undefined
        await delay(pollMs, undefined, { signal }).catch(ignored)
      }
    },
    close() {
      for (const renewal of renewals) clearInterval(renewal)
      renewals.clear()
    },
  }
}

/** The answer as soon as it is there; a claim, when there is none. Whatever goes wrong with the looking is thrown. */
async function both(
  looking: Promise<Entry | undefined>,
  claiming: Promise<Lease | undefined> | undefined,
): Promise<[Entry | undefined, Lease | undefined]> {
  // It may fail before anybody waits for it.
  claiming?.catch(ignored)
  let entry: Entry | undefined
  try {
    entry = await looking
  } catch (reason) {
    giveBack(claiming)
    throw reason
  }
  if (!entry) return [undefined, await claiming]
  giveBack(claiming)
  return [entry, undefined]
}

function giveBack(claiming: Promise<Lease | undefined> | undefined): void {
  claiming?.then((lease) => lease?.end(false), ignored)
}

function ignored(): void {}
