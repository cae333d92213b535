import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { Replica } from './replica.ts'
import type { Timers } from './timers.ts'

/** Finds the addresses of a name. An empty list: the name is gone. Throws when nobody can say. */
export type Resolve = (name: string) => Promise<readonly string[]>

/** Who the other replicas are, where, and when each was last heard. */
export interface Roster {
  /** Looks the names up again. Never throws. */
  refresh(): Promise<void>
  /** Where the others are now, as `host:port`, without this replica's own. */
  addresses(): readonly string[]
  /** How many replicas there are, this one included: those that were there within ten minutes, so that a split does not make a whole. */
  size(): number
  /** What is known of who is at an address. */
  at(address: string): Replica | undefined
  /** A replica was heard, at an address or on its own account. */
  heard(replica: Replica, address?: string): void
  /** The names of the others that were heard within so many milliseconds. */
  alive(withinMs: number): readonly string[]
}

/** What a {@link Roster} is made of. */
export interface RosterParts {
  /** `host` or `host:port`; a host may have many addresses. */
  readonly peers: readonly string[]
  /** Where a peer without a port listens: the admin port. */
  readonly port: number
  readonly self: Replica
  readonly timers: Timers
  readonly resolve?: Resolve
}

/** An address that was there so long ago still counts, in milliseconds. */
export const rememberedMs = 600_000

interface Place {
  readonly entry: string
  lastMs: number
  present: boolean
  replica: Replica | undefined
}

/** Makes a {@link Roster} that knows nobody yet. */
export function createRoster({ peers, port, self, timers, resolve = resolveByDns }: RosterParts): Roster {
  const places = new Map<string, Place>()
  const lastHeard = new Map<string, number>()
  const isSelf = ({ replica }: Place): boolean => replica?.id === self.id
  const take = (entry: string, found: ReadonlySet<string>): void => {
    for (const place of places.values()) if (place.entry === entry) place.present = false
    for (const address of found) {
      const place = places.get(address) ?? { entry, lastMs: 0, present: true, replica: undefined }
      Object.assign(place, { lastMs: timers.elapsed(), present: true })
      places.set(address, place)
    }
  }
  const remembered = (): [string, Place][] => {
    for (const [address, { lastMs, present }] of places) {
      if (!present && timers.elapsed() - lastMs > rememberedMs) places.delete(address)
    }
    return [...places]
  }
  return {
    async refresh() {
      const all = peers.map(async (entry) => {
        const { host, at } = partsOf(entry, port)
        // Who cannot be asked has not changed.
        const found = isIP(host) ? [host] : await resolve(host).catch(() => undefined)
        if (found)
          take(entry, new Set(found.map((address) => `${isIP(address) === 6 ? `[${address}]` : address}:${at}`)))
      })
      await Promise.all(all)
    },
    addresses: () => remembered().flatMap(([address, place]) => (place.present && !isSelf(place) ? [address] : [])),
    size() {
      const all = remembered()
      const others = all.filter(([, place]) => !isSelf(place)).map(([address, { replica }]) => replica?.id ?? address)
      // A name that was never found is somebody who is not there.
      const unseen = peers.filter((entry) => !all.some(([, place]) => place.entry === entry))
      return 1 + new Set([...others, ...unseen]).size
    },
    at: (address) => places.get(address)?.replica,
    heard(replica, address) {
      const place = address === undefined ? undefined : places.get(address)
      if (place) place.replica = replica
      if (replica.id !== self.id) lastHeard.set(replica.id, timers.elapsed())
    },
    alive(withinMs) {
      for (const [id, at] of lastHeard) if (timers.elapsed() - at > rememberedMs) lastHeard.delete(id)
      return [...lastHeard].filter(([, at]) => timers.elapsed() - at <= withinMs).map(([id]) => id)
    },
  }
}

function partsOf(entry: string, port: number): { host: string; at: number } {
  const found = /^\[([^\]]+)\](?::(\d+))?$/.exec(entry) ?? /^([^:]+)(?::(\d+))?$/.exec(entry)
  return found ? { host: found[1] as string, at: Number(found[2] ?? port) } : { host: entry, at: port }
}

const goneCodes: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA'])

async function resolveByDns(name: string): Promise<readonly string[]> {
  try {
    return (await lookup(name, { all: true })).map(({ address }) => address)
  } catch (reason) {
    if (goneCodes.has((reason as NodeJS.ErrnoException).code)) return []
    throw reason
  }
}
