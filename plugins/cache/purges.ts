import type { Route } from '../chat.ts'
import { type Side, sideKeys } from '../host.ts'
import type { Script, Store } from '../store.ts'
import type { EntryMeta } from './entry.ts'

/** What a purge takes: entries that fit every member given; with none, all. */
export interface PurgeScope {
  readonly tenant?: string
  readonly route?: Route
  readonly promptVersion?: string
}

/** A purge as it is noted: answers to calls up to an instant are gone, and which. `tenant` is under the index's secret. */
export interface Purge {
  readonly until: number
  readonly tenant?: string | undefined
  readonly route?: string | undefined
  readonly prompt?: string | undefined
}

/** A purge as the other side is told of it: wider where that has other names for tenants and versions, never narrower. */
export type ToldPurge = {
  /** Answers to calls up to this instant are gone, in milliseconds since the epoch. */
  readonly until: number
  /** On this route only; absent: on every one. */
  readonly route?: string
}

/**
 * Notes of what was purged, so that an answer that was under way, or that another replica holds at hand, is not given out afterwards.
 * Kept as long as an entry can live.
 */
export interface Purges {
  /** Whether a purge has taken this entry. */
  hides(meta: EntryMeta): boolean
  /** Notes a purge, here and in the store. Throws `store_lost`. */
  note(purge: Purge): Promise<void>
  /** Reads the notes of other replicas when the last look is older than the bound. */
  refresh(now: number): Promise<void>
  /** What the other side is to pass over: at most one purge a route. Looks for notes of other replicas beside. */
  told(now: number): readonly ToldPurge[]
  /** The other side has told of these. */
  learn(told: readonly ToldPurge[], now: number): void
  /** Entries may live so long from now on, in milliseconds. */
  keepFor(ms: number): void
}

/** Where the notes lie, and how long they are needed. */
export interface PurgesInit {
  readonly store: Store
  readonly side: Side
  /** How old the last look may be, in milliseconds. */
  readonly lookEveryMs: number
}

/** A day: answers of an earlier configuration may outlive this one's time to live. */
const leastKeepMs = 86_400_000
/** Longest the notes may grow, in bytes; beyond, they become one note that takes everything. */
const maxNotesBytes = 16_384

/** Appends a note in one step, so that two replicas that purge at once both count. */
export const appendNote: Script = {
  name: 'cache-note-purge',
  lua: `local notes = redis.call('GET', KEYS[1]) or ''
if #notes > tonumber(ARGV[3]) then notes = '' else ARGV[2] = ARGV[1] end
redis.call('SET', KEYS[1], notes .. ARGV[2], 'PX', ARGV[4])
return {#notes}`,
  local(memory, [key = ''], [note = '', everything = '', limit, keepMs]) {
    const notes = memory.get(key) ?? ''
    const full = notes.length > Number(limit)
    memory.set(key, full ? everything : notes + note, Number(keepMs))
    return [full ? 0 : notes.length]
  },
}

/** Makes {@link Purges}. */
export function createPurges({ store, side, lookEveryMs }: PurgesInit): Purges {
  const notesKey = `cache:${sideKeys[side]}:purges`
  let keepMs = leastKeepMs
  let purges: readonly Purge[] = []
  let lookedAt = Number.NEGATIVE_INFINITY
  let look = Promise.resolve()
  const add = (more: readonly Purge[], now: number): void => {
    const known = new Map([...purges, ...more].map((purge) => [JSON.stringify(purge), purge]))
    purges = [...known.values()].filter((purge) => purge.until + keepMs > now)
  }
  const refresh = (now: number): Promise<void> => {
    // Nobody else writes to an embedded store; what an earlier configuration noted is read once.
    const due = store.kind === 'embedded' ? lookedAt === Number.NEGATIVE_INFINITY : now - lookedAt >= lookEveryMs
    if (due) {
      lookedAt = now
      look = store.get(notesKey).then((notes) => notes && add(purgesFromNotes(notes.toString('utf8')), now), ignored)
    }
    return look
  }
  return {
    hides: (meta) => purges.length > 0 && purges.some((purge) => takes(purge, meta)),
    async note(purge) {
      add([purge], purge.until)
      const everything: Purge = { until: purge.until }
      const lines = [purge, everything].map((each) => `${JSON.stringify(each)}\n`)
      await store.run(appendNote, [notesKey], [...lines, maxNotesBytes, keepMs])
    },
    refresh,
    told(now) {
      void refresh(now)
      return purges.length === 0 ? [] : latestByRoute(purges.filter((purge) => purge.until + keepMs > now))
    },
    learn(told, now) {
      const knows = ({ until, route }: ToldPurge): boolean =>
        purges.some((purge) => purge.tenant === undefined && purge.route === route && purge.until >= until)
      const news = told.filter((each) => each.until + keepMs > now && !knows(each))
      if (news.length > 0) add(news, now)
    },
    keepFor(ms) {
      keepMs = Math.max(keepMs, ms)
    },
  }
}

function latestByRoute(purges: readonly Purge[]): readonly ToldPurge[] {
  const until = new Map<string | undefined, number>()
  for (const purge of purges) until.set(purge.route, Math.max(purge.until, until.get(purge.route) ?? 0))
  return [...until].map(([route, last]) => (route === undefined ? { until: last } : { until: last, route }))
}

function ignored(): void {}

/** Whether an entry is among what a purge takes. */
export function takes(purge: Purge, meta: EntryMeta): boolean {
  return (
    meta.askedAt <= purge.until &&
    (purge.tenant ?? meta.tenant) === meta.tenant &&
    (purge.route ?? meta.route) === meta.route &&
    (purge.prompt ?? meta.prompt) === meta.prompt
  )
}

/** A line that is not a note is passed over: it must not take answers away, nor stop others from being read. */
function purgesFromNotes(notes: string): Purge[] {
  return notes.split('\n').flatMap((line): Purge[] => {
    try {
      const purge = JSON.parse(line) as Purge
      return typeof purge?.until === 'number' ? [purge] : []
    } catch {
      return []
    }
  })
}
