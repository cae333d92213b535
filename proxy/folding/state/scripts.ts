import type { Memory, Script } from '../../../plugins/store.ts'
import { changesBetween, emptyDocument, type Notes, type StageDocument, type Trips } from './document.ts'
import { movedTo, notedIn, refusalOf, restoredTo, trippedBy } from './judge.ts'
import { appended } from './log.ts'
import { leadLua, leaveLua, lookLua, noteLua, restoreLua, transitionLua, tripLua } from './lua.ts'

const tag = '{foldgate:stages}'

/** The keys of the state: all under one tag, so that one script can have them all, on a cluster too. */
export const stateKeys = {
  state: `${tag}:state`,
  log: `${tag}:log`,
  fence: `${tag}:fence`,
  seen: `${tag}:seen`,
  lease: `${tag}:leader`,
  counters: (rolloutId: string, stage: string): string => `${tag}:agg:${rolloutId}:${stage}`,
}

/** Where changes are announced, as a hint to look. */
export const changedChannel = `${stateKeys.state}:changed`

/** The state as it is written in the store; undefined where there is none, or what is there is none. */
export function documentFromText(text: string | undefined): StageDocument | undefined {
  if (!text) return undefined
  try {
    const read = JSON.parse(text) as Partial<StageDocument> | null
    return read?.layers && read.tripped && typeof read.rev === 'number' ? (read as StageDocument) : undefined
  } catch {
    return undefined
  }
}

const read = (memory: Memory, key = ''): StageDocument | undefined => documentFromText(memory.get(key))

interface Entry {
  readonly kind: string
  readonly document: StageDocument
  readonly layers: string
  readonly record: string
}

function keep(memory: Memory, [state = '', log = '']: readonly string[], entry: Entry): string {
  const text = JSON.stringify(entry.document)
  memory.set(state, text)
  const { kind, layers, record } = entry
  memory.set(log, appended(memory.get(log), { at: memory.now, rev: entry.document.rev, kind, layers, record }))
  return text
}

/**
 * Moves layers, or says why not. KEYS: state, log, fence. ARGV: the revision it was decided on, the fence, the layers, `1` if the hold
 * shall be as the next one says, the hold, and for the log the changes and the rest of the record. Returns `done` and the new state, or
 * a {@link Refused}.
 */
export const transitionScript: Script = {
  name: 'stages-transition',
  lua: transitionLua,
  local(memory, keys, [rev, fence, text = '{}', holds, hold = '', layers = '', record = '']) {
    const document = read(memory, keys[0]) ?? emptyDocument
    const change = { expectedRev: Number(rev), fence: Number(fence), layers: JSON.parse(text) }
    const refused = refusalOf(document, Number(memory.get(keys[2] ?? '') ?? 0), change)
    if (refused) return [refused]
    const next = movedTo(document, holds === '1' ? { ...change, hold } : change, memory.now)
    return ['done', keep(memory, keys, { kind: 'transition', document: next, layers, record })]
  },
}

/** Notes something. KEYS: state, log. ARGV: the notes by name, `1` if those that are there stay, the record. Returns as {@link tripScript}. */
export const noteScript: Script = {
  name: 'stages-note',
  lua: noteLua,
  local(memory, keys, [notes = '{}', keeps, record = '']) {
    const document = read(memory, keys[0]) ?? emptyDocument
    const next = notedIn(document, JSON.parse(notes) as Notes, keeps === '1')
    if (next === document) return ['known', JSON.stringify(document)]
    return ['done', keep(memory, keys, { kind: 'note', document: next, layers: '{}', record })]
  },
}

/** Takes rollouts back. KEYS: state, log. ARGV: the trips by rollout, the record. Returns `done` or `known`, and the state. */
export const tripScript: Script = {
  name: 'stages-trip',
  lua: tripLua,
  local(memory, keys, [trips = '{}', record = '']) {
    const document = read(memory, keys[0]) ?? emptyDocument
    const next = trippedBy(document, JSON.parse(trips) as Trips)
    if (next === document) return ['known', JSON.stringify(document)]
    const layers = JSON.stringify(changesBetween(document.layers, next.layers))
    return ['done', keep(memory, keys, { kind: 'trip', document: next, layers, record })]
  },
}

/** Brings back what a replica knows, where the store has lost it. KEYS: state, log. ARGV: what is known, the changes, the record. Returns as {@link tripScript}. */
export const restoreScript: Script = {
  name: 'stages-restore',
  lua: restoreLua,
  local(memory, keys, [known = '{}', layers = '', record = '']) {
    const document = read(memory, keys[0])
    const next = restoredTo(document, JSON.parse(known) as StageDocument)
    if (next === (document ?? emptyDocument)) return ['known', JSON.stringify(next)]
    return ['done', keep(memory, keys, { kind: 'restore', document: next, layers, record })]
  },
}

/**
 * Says what this replica has seen, and looks at everything. KEYS: state, seen, fence. ARGV: the replica, what it has seen (JSON). Returns
 * the state or an empty text, the fence given out last, the instant, 1 where this replica was not there (else 0), and for each replica
 * seen within a minute its name, and the instant and what it had seen, a space between them.
 */
export const lookScript: Script = {
  name: 'stages-look',
  lua: lookLua,
  local(memory, [state = '', seen = '', fence = ''], [replica = '', what = '']) {
    const kept = JSON.parse(memory.get(seen) ?? '{}') as Record<string, string>
    const all = Object.entries({ ...kept, [replica]: `${memory.now} ${what}` })
    const fresh = all.filter(([, text]) => memory.now - Number(text.split(' ', 1)[0]) <= 60_000)
    memory.set(seen, JSON.stringify(Object.fromEntries(fresh)))
    const first = Object.hasOwn(kept, replica) ? 0 : 1
    return [memory.get(state) ?? '', Number(memory.get(fence) ?? 0), memory.now, first, ...fresh.flat()]
  },
}

/**
 * Takes the lease, or keeps it. KEYS: lease, fence. ARGV: who asks, the lease in milliseconds, the highest fence they have seen. Returns
 * the fence, or 0 where another holds the lease.
 */
export const leadScript: Script = {
  name: 'stages-lead',
  lua: leadLua,
  local(memory, [lease = '', given = ''], [me = '', leaseMs, highest]) {
    const holder = memory.get(lease)
    if (holder !== undefined && holder !== me) return [0]
    const [fence, seen] = [Number(memory.get(given) ?? 0), Number(highest)]
    const next = holder === undefined || fence < seen ? Math.max(fence, seen) + 1 : fence
    memory.set(given, String(next))
    memory.set(lease, me, Number(leaseMs))
    return [next]
  },
}

/** Gives the lease back, if it is this one's, and is not seen any more. KEYS: lease, seen. ARGV: who asks. Returns nothing. */
export const leaveScript: Script = {
  name: 'stages-leave',
  lua: leaveLua,
  local(memory, [lease = '', seen = ''], [me = '']) {
    if (memory.get(lease) === me) memory.delete(lease)
    const { [me]: _, ...others } = JSON.parse(memory.get(seen) ?? '{}') as Record<string, string>
    memory.set(seen, JSON.stringify(others))
    return []
  },
}
