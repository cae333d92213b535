import type { SeenCall } from './recent-view.ts'

/** What is counted of the calls that ended within one minute. Durations in milliseconds, by the places of {@link placeOf}. */
export interface Minute {
  /** Minutes since the epoch; −1: nothing yet. */
  minute: number
  calls: number
  /** Ended with 5xx; callers that left and calls shed on purpose are apart. */
  failed: number
  /** Ended with 4xx, but 499. */
  refused: number
  /** The caller went away. */
  left: number
  shed: number
  readonly firstByte: Uint32Array
  readonly overhead: Uint32Array
  readonly runner: Uint32Array
  /** By layer: fallbacks that speak against the runner. */
  readonly fallbacks: Uint32Array
  slowest: SeenCall | undefined
}

const places = 96
const leastMs = 0.1
const factor = 1.2
const perPlace = Math.log(factor)

/** Makes an empty minute. */
export function createMinute(layers: number): Minute {
  return {
    ...{ minute: -1, calls: 0, failed: 0, refused: 0, left: 0, shed: 0, slowest: undefined },
    firstByte: new Uint32Array(places),
    overhead: new Uint32Array(places),
    runner: new Uint32Array(places),
    fallbacks: new Uint32Array(layers),
  }
}

/** Empties a minute for another one. */
export function clearMinute(slot: Minute, minute: number): void {
  Object.assign(slot, { minute, calls: 0, failed: 0, refused: 0, left: 0, shed: 0, slowest: undefined })
  for (const counts of [slot.firstByte, slot.overhead, slot.runner, slot.fallbacks]) counts.fill(0)
}

/** The place of a duration: each is 1.2 times as long as the one before it, from 0.1 ms to an hour. */
export function placeOf(ms: number): number {
  if (!(ms > leastMs)) return 0
  return Math.min(places - 1, 1 + Math.floor(Math.log(ms / leastMs) / perPlace))
}

/** A quantile of counts by place, in milliseconds, to about a tenth of itself; undefined where nothing was counted. */
export function quantile(counts: readonly Uint32Array[], q: number): number | undefined {
  let total = 0
  const sums = new Float64Array(places)
  for (const each of counts)
    for (let place = 0; place < places; place++) {
      sums[place] = (sums[place] as number) + (each[place] as number)
      total += each[place] as number
    }
  if (total === 0) return undefined
  const rank = q * total
  let below = 0
  for (let place = 0; place < places; place++) {
    const here = sums[place] as number
    if (here > 0 && below + here >= rank) return leastMs * factor ** (place - 1 + (rank - below) / here)
    below += here
  }
  return undefined
}
