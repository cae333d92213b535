import type { Store } from '../store.ts'
import { unitsEach } from './bucket.ts'
import { leaseEnd } from './lease.ts'
import type { Quota, Standing } from './rule.ts'
import { reserveScript, settleScript } from './window.ts'

/** What a call wants of one quota, and where that is counted. */
export interface Want {
  readonly quota: Quota
  readonly key: string
  readonly tag: string
  readonly cost: number
}

/** What a call has taken. */
export interface Held {
  readonly want: Want
  /** Grows when a stream is given more. */
  cost: number
  /** For buckets the instant of the taking, on the clock of the bucket; for calls under way the instant the lease ends. */
  at: number
}

/** How a taking went: what is held, or, when something fell short, nothing. */
export interface Taken {
  readonly held: readonly Held[] | undefined
  /** Every quota that was asked, as it stood before. */
  readonly standings: readonly Standing[]
}

/** When it is, and how long leases last, in milliseconds. */
export interface Moment {
  readonly now: number
  readonly leaseMs: number
}

/**
 * Takes all that is wanted or nothing: keys with one tag in one step, the others one after another, and what was taken is given back when
 * a later one falls short. Throws `store_lost`.
 */
export async function takeAll(store: Store, wants: readonly Want[], moment: Moment): Promise<Taken> {
  const held: Held[] = []
  const standings: Standing[] = []
  for (const group of groupsOf(wants, (want) => want.tag)) {
    const ends = leaseEnd(moment.now, moment.leaseMs)
    const args = group.flatMap(({ quota, cost }) =>
      quota.of === 'concurrent' ? ['l', quota.capacity, ends, 0] : ['b', quota.perMinute, quota.capacity, cost],
    )
    const keys = group.map((want) => want.key)
    const [fits, ...states] = (await store.run(reserveScript, keys, [moment.now, ...args])) as number[]
    for (const [i, want] of group.entries()) {
      const [level = 0, at = 0] = states.slice(i * 2, i * 2 + 2)
      const concurrent = want.quota.of === 'concurrent'
      const taken = fits ? want.cost * (concurrent ? 1 : unitsEach) : 0
      standings.push({ quota: want.quota, cost: want.cost, level: level - taken })
      if (fits) held.push({ want, cost: want.cost, at: concurrent ? ends : at })
    }
    if (!fits) {
      await putRight(store, held, { now: moment.now, used: () => 0 })
      return { held: undefined, standings }
    }
  }
  return { held, standings }
}

/** When it is, and what of each holding was really used. */
export interface Settlement {
  readonly now: number
  used(held: Held): number
}

/** Holdings of nothing yet, in every bucket: settled, they are charged all that was used. */
export function heldNothing(wants: readonly Want[], now: number): Held[] {
  return wants.filter(({ quota }) => quota.of !== 'concurrent').map((want) => ({ want, cost: 0, at: now }))
}

/** Settles what is held to what was used; calls under way are given back. Throws `store_lost`. */
export async function putRight(store: Store, held: readonly Held[], { now, used }: Settlement): Promise<void> {
  const right = ({ want, cost, at }: Held, spent: number): (string | number)[] =>
    want.quota.of === 'concurrent' ? ['l', 1, at, 0, 0] : ['b', want.quota.perMinute, cost, spent, at]
  const changed = held.filter((each) => each.want.quota.of === 'concurrent' || used(each) !== each.cost)
  const runs = groupsOf(changed, (each) => each.want.tag).map((group) => {
    const args = group.flatMap((each) => right(each, used(each)))
    const keys = group.map((each) => each.want.key)
    return store.run(settleScript, keys, [now, ...args])
  })
  await Promise.all(runs)
}

/** Renews the leases of calls under way: all of one key and end together. Throws `store_lost`. */
export async function renewLeases(store: Store, leases: readonly Held[], moment: Moment): Promise<void> {
  const ends = leaseEnd(moment.now, moment.leaseMs)
  const runs = groupsOf(leases, (each) => `${each.want.key} ${each.at}`).map((group) => {
    const [first] = group as [Held]
    const args = [moment.now, 'l', group.length, first.at, ends, 0]
    for (const each of group) each.at = ends
    return store.run(settleScript, [first.want.key], args)
  })
  await Promise.all(runs)
}

function groupsOf<T>(items: readonly T[], nameOf: (item: T) => string): T[][] {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const group = groups.get(nameOf(item))
    if (group) group.push(item)
    else groups.set(nameOf(item), [item])
  }
  return [...groups.values()]
}
