import type { Host } from '../host.ts'
import { type Entry, type EntryMeta, bytesFromEntry, entryFromBytes } from './entry.ts'
import { createFront } from './front.ts'
import { cachedRoutes } from './pin.ts'
import { createPurges, type PurgeScope } from './purges.ts'
import { siphash } from './siphash.ts'

/** Prefix of the keys of this side's answers. The runner's half keeps its own. */
const prefix = 'cache:g:e:'

/** Where an answer belongs. */
export interface Place {
  /** SHA-256 of the key, in hex. */
  readonly digest: string
  readonly route: string
  /** Undefined where nobody is told apart. */
  readonly tenant: string | undefined
  /** The prompt version, for purging. */
  readonly prompt: string
}

/** The answers: at hand in this process, and behind that in the store. */
export interface Storage {
  /** What is at hand. */
  near(digest: string, now: number): Entry | undefined
  /** What the store has; it is at hand from then on. */
  far(place: Place, now: number): Promise<Entry | undefined>
  /** At hand at once; resolves when the store has it too. Never throws. */
  keep(place: Place, made: Omit<EntryMeta, 'sha' | 'tenant' | 'route' | 'prompt'>, json: Buffer): Kept
  /** How many answers went, as far as they were counted. Throws `store_lost`, after this process has forgotten its own. */
  purge(scope: PurgeScope): Promise<number>
}

/** An answer that was just kept. */
export interface Kept {
  readonly entry: Entry
  readonly stored: Promise<void>
}

/** The settings that storing hangs on. */
export interface StorageConfig {
  readonly ttl_seconds: number
  readonly maxBytes: number
  readonly maxEntryBytes: number
  readonly localTtlMs: number
}

/** Makes the {@link Storage} of one configuration. */
export function createStorage(config: StorageConfig, host: Host): Storage {
  const { store } = host
  const secret = host.secret('cache-index')
  const shared = store.kind === 'redis'
  const ttlMs = config.ttl_seconds * 1000
  const front = createFront(config.maxBytes)
  // Entries of an earlier configuration may live longer than this one's.
  const keepMs = Math.max(ttlMs, 86_400_000)
  const purges = createPurges({ store, keepMs, lookEveryMs: config.localTtlMs })
  const tagOf = (tenant: string | undefined): string =>
    tenant === undefined ? '-' : siphash(secret, Buffer.from(tenant, 'utf8'))
  const keyOf = (place: Place): string =>
    `${prefix}${place.route}:${tagOf(place.tenant)}:${siphash(secret, Buffer.from(place.digest, 'hex'))}`
  const usable = ({ meta }: Entry, now: number): boolean =>
    meta.madeAt + Math.min(meta.ttlMs, ttlMs) > now && !purges.hides(meta)
  const checkedUntil = (now: number): number => (shared ? now + config.localTtlMs : Number.POSITIVE_INFINITY)
  return {
    near(digest, now) {
      const held = front.get(digest)
      if (!held) return undefined
      if (usable(held.entry, now)) return held.checkedUntil > now ? held.entry : undefined
      front.delete(digest)
      return undefined
    },
    async far(place, now) {
      const [bytes] = await Promise.all([store.get(keyOf(place)), purges.refresh(now)])
      const entry = bytes && (await entryFromBytes(bytes, config.maxEntryBytes))
      if (!entry || entry.meta.sha !== place.digest || !usable(entry, now)) {
        front.delete(place.digest)
        return undefined
      }
      front.set(entry, checkedUntil(now))
      return entry
    },
    keep(place, made, json) {
      const meta = { ...made, sha: place.digest, tenant: tagOf(place.tenant), route: place.route, prompt: place.prompt }
      const entry = { meta, json }
      front.set(entry, checkedUntil(made.madeAt))
      const write = async (): Promise<void> => store.set(keyOf(place), await bytesFromEntry(entry, shared), made.ttlMs)
      const stored = write().catch((reason: unknown) => {
        host.log.warn({ reason: reason instanceof Error ? reason.message : 'unknown' }, 'an answer could not be stored')
      })
      return { entry, stored }
    },
    async purge({ tenant, route, promptVersion: prompt }) {
      const until = host.clock.now()
      const tag = tenant === undefined ? undefined : tagOf(tenant)
      const near = front.deleteWhere(
        ({ meta }) => (tag ?? meta.tenant) === meta.tenant && (route ?? meta.route) === meta.route && (prompt ?? meta.prompt) === meta.prompt,
      )
      await purges.note({ until, tenant: tag, route, prompt })
      if (prompt !== undefined) return near
      const routes = route === undefined && tag !== undefined ? cachedRoutes : [route]
      const counts = await Promise.all(
        routes.map((each) => store.deletePrefix(`${prefix}${each ? `${each}:` : ''}${tag ? `${tag}:` : ''}`)),
      )
      return counts.reduce((sum, count) => sum + count, 0)
    },
  }
}
