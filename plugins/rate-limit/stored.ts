import type { Memory } from '../store.ts'
import { type Bucket, type Low, untouched } from './bucket.ts'
import { type Leases, leasesAt } from './lease.ts'

// A bucket is kept a second longer than it takes to drain, so that a clock that is a little behind finds it.
const graceMs = 1000

/** The bucket kept under a key, as `debt,at,low.at,low.debt,…`. */
export function readBucket(memory: Memory, key: string): Bucket {
  const text = memory.get(key)
  if (text === undefined) return untouched
  const [debt = 0, at = 0, ...rest] = text.split(',').map(Number)
  const lows: Low[] = []
  for (let i = 0; i + 1 < rest.length; i += 2) lows.push({ at: rest[i] as number, debt: rest[i + 1] as number })
  return { debt, at, lows }
}

/** Keeps a bucket until its debt has decayed. */
export function writeBucket(
  memory: Memory,
  key: string,
  { bucket, perMinute }: { bucket: Bucket; perMinute: number },
): void {
  if (bucket.debt <= 0) {
    memory.delete(key)
    return
  }
  const text = [bucket.debt, bucket.at, ...bucket.lows.flatMap((low) => [low.at, low.debt])].join(',')
  memory.set(key, text, Math.ceil(bucket.debt / perMinute) + graceMs)
}

/** The leases kept under a key, as `ends:count,…`. */
export function readLeases(memory: Memory, key: string, now: number): Map<number, number> {
  const pairs = (memory.get(key) ?? '').split(',').filter(Boolean)
  return leasesAt(new Map(pairs.map((pair) => pair.split(':').map(Number) as [number, number])), now)
}

/** Keeps leases until the last one ends. */
export function writeLeases(memory: Memory, key: string, { leases, now }: { leases: Leases; now: number }): void {
  const live = leasesAt(leases, now)
  const ends = [...live.keys()]
  const last = ends.at(-1)
  if (last === undefined) memory.delete(key)
  else memory.set(key, ends.map((each) => `${each}:${live.get(each)}`).join(','), last - now + graceMs)
}
