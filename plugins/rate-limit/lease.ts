/**
 * Calls under way, as how many leases end at which instant (milliseconds since the epoch). The instants are rounded, so that there are only
 * a few of them however many calls there are. A lease that nobody renews ends by itself: that is how the slots of a crashed process
 * come back.
 */
export type Leases = ReadonlyMap<number, number>

/** The leases that have not ended. */
export function leasesAt(leases: Leases, now: number): Map<number, number> {
  return new Map([...leases].filter(([ends, count]) => ends > now && count > 0).sort(([a], [b]) => a - b))
}

/** How many calls hold one. */
export function heldLeases(leases: Leases): number {
  let sum = 0
  for (const count of leases.values()) sum += count
  return sum
}

/** With so many leases of the instant `from` given back, as far as they are still there, and as many taken until `to`. */
export function movedLeases(leases: Leases, count: number, { from, to }: { from?: number; to?: number }): Leases {
  const moved = new Map(leases)
  if (from !== undefined) moved.set(from, Math.max(0, (moved.get(from) ?? 0) - count))
  if (to !== undefined) moved.set(to, (moved.get(to) ?? 0) + count)
  return moved
}

/** The instant at which a lease taken now ends: after `leaseMs`, rounded up to a quarter of it. */
export function leaseEnd(now: number, leaseMs: number): number {
  const step = Math.ceil(leaseMs / 4)
  return Math.ceil((now + leaseMs) / step) * step
}
