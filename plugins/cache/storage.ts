import type { Host } from '../host.ts'
import { createAddresses, type Place } from './address.ts'
import { bytesFromEntry, type Entry, type EntryMeta, entryFromBytes } from './entry.ts'
import { createFront } from './front.ts'
import { createPurges, type PurgeScope, type ToldPurge, takes } from './purges.ts'

/** The answers: at hand in this process, and behind that in the store. */
export interface Storage {
  /** What is at hand. */
  near(digest: string, now: number): Entry | undefined
  /** What the store has; it is at hand from then on. While a shared store is away, what this process still holds. */
  far(place: Place, now: number): Promise<Entry | undefined>
  /** At hand at once; `stored` resolves when the store has it too, or could not take it. */
  keep(place: Place, made: Made, json: Buffer): { readonly entry: Entry; readonly stored: Promise<void> }
  /** How many answers went, as far as they were counted. Throws `store_lost`, after this process has forgotten its own. */
  purge(scope: PurgeScope): Promise<number>
  /** The purges that the other side is to know, and those that it knows of. */
  told(now: number): readonly ToldPurge[]
  learn(told: readonly ToldPurge[], now: number): void
  /** Answers may live so long from now on, in milliseconds: purges are remembered at least that long. */
  keepFor(ms: number): void
}

/** What is said of an answer that is to be kept. */
export type Made = Pick<EntryMeta, 'madeAt' | 'askedAt' | 'ttlMs' | 'target'>

/** The settings that storing hangs on. */
export interface StorageConfig {
  readonly maxBytes: number
  readonly maxEntryBytes: number
  readonly localTtlMs: number
}

/** Makes the {@link Storage} of one side. */
export function createStorage(config: StorageConfig, host: Host): Storage {
  const { store, side } = host
  const shared = store.kind === 'redis'
  const front = createFront(config.maxBytes)
  const addresses = createAddresses(host.secret('cache-index'), side)
  const purges = createPurges({ store, side, lookEveryMs: config.localTtlMs })
  const usable = ({ meta }: Entry, now: number): boolean => meta.madeAt + meta.ttlMs > now && !purges.hides(meta)
  const hold = (entry: Entry, now: number): void =>
    front.set(entry, shared ? now + config.localTtlMs : Number.POSITIVE_INFINITY)
  const held = (digest: string, now: number) => {
    const found = front.get(digest)
    if (!found || usable(found.entry, now)) return found
    front.delete(digest)
    return undefined
  }
  return {
    near(digest, now) {
      const found = held(digest, now)
      return found && found.checkedUntil > now ? found.entry : undefined
    },
    async far(place, now) {
      const [bytes] = await Promise.all([store.get(addresses.key(place)), purges.refresh(now)])
      if (!bytes && !store.up()) return held(place.digest, now)?.entry
      const entry = bytes && (await entryFromBytes(bytes, config.maxEntryBytes))
      const found = entry?.meta.sha === place.digest && usable(entry, now) ? entry : undefined
      // A copy: a slice would keep the whole network read it came from alive.
      if (found) hold(shared ? { meta: found.meta, json: Buffer.from(found.json) } : found, now)
      else front.delete(place.digest)
      return found
    },
    keep(place, made, json) {
      const { digest: sha, route, tenant, prompt } = place
      const entry = { meta: { ...made, sha, tenant: addresses.tag(tenant), route, prompt }, json }
      hold(entry, made.madeAt)
      const write = async (): Promise<void> =>
        store.set(addresses.key(place), await bytesFromEntry(entry, shared), made.ttlMs)
      return { entry, stored: write().catch((reason: unknown) => notStored(host, reason)) }
    },
    async purge({ tenant, route, promptVersion: prompt }) {
      const tag = tenant === undefined ? undefined : addresses.tag(tenant)
      const purge = { until: host.clock.now(), tenant: tag, route, prompt }
      const near = front.deleteWhere(({ meta }) => takes(purge, meta))
      await purges.note(purge)
      // A version does not stand in the address: the notes hide its answers until their time is over.
      if (prompt !== undefined) return near
      const counts = await Promise.all(addresses.prefixes(tag, route).map((each) => store.deletePrefix(each)))
      return counts.reduce((sum, count) => sum + count, 0)
    },
    told: purges.told,
    learn: purges.learn,
    keepFor: purges.keepFor,
  }
}

function notStored({ log }: Host, reason: unknown): void {
  log.warn({ reason: reason instanceof Error ? reason.message : 'unknown' }, 'an answer could not be stored')
}
