import { type FallbackReason, isEvidence } from '../../plugins/execution-context-fallback.ts'
import type { Clock } from '../../plugins/host.ts'
import type { EndedCall } from './meters.ts'
import type { Metrics } from './metrics.ts'
import { clearMinute, createMinute, type Minute, placeOf } from './recent-minute.ts'
import { type RecentView, recentViewFrom, type SeenCall } from './recent-view.ts'

/** The last hour of this process in minutes, for people who look at it now. Recording costs a few increments; nothing of it grows. */
export interface Recent {
  ended(call: EndedCall): void
  /** A layer of a call fell back to the gateway; only what speaks against the runner is counted. */
  fallback(layer: string, reason: FallbackReason): void
  /** A call is over: kept where it failed, or was the slowest of its minute. */
  saw(call: SeenCall): void
  view(): RecentView
}

/** Metrics that tell {@link Recent} of calls and fallbacks as well. */
export function remembering(metrics: Metrics, recent: Pick<Recent, 'ended' | 'fallback'>): Metrics {
  return {
    ...metrics,
    ended(call) {
      metrics.ended(call)
      recent.ended(call)
    },
    fallback(layer, reason) {
      metrics.fallback(layer, reason)
      recent.fallback(layer, reason)
    },
  }
}

/** What it is made with. */
export interface RecentParts {
  readonly clock: Clock
  /** The names of all layers of the product. */
  readonly layers: readonly string[]
}

/** Minutes that are kept: the last hour, and the five before it that the last five are held against. */
export const keptMinutes = 65
const mostFailed = 8

/** Makes {@link Recent}. */
export function createRecent({ clock, layers }: RecentParts): Recent {
  const startedAt = clock.now()
  const ring: Minute[] = Array.from({ length: keptMinutes }, () => createMinute(layers.length))
  const reasons = new Map<string, FallbackReason>()
  const failed: SeenCall[] = []
  const current = (): Minute => {
    const minute = Math.floor(clock.now() / 60_000)
    const slot = ring[minute % keptMinutes] as Minute
    if (slot.minute !== minute) clearMinute(slot, minute)
    return slot
  }
  return {
    ended: (call) => count(current(), call),
    fallback(layer, reason) {
      const at = layers.indexOf(layer)
      if (at < 0 || !isEvidence(reason)) return
      const { fallbacks } = current()
      fallbacks[at] = (fallbacks[at] as number) + 1
      reasons.set(layer, reason)
    },
    saw(call) {
      const minute = current()
      if (minute.slowest === undefined || call.ms > minute.slowest.ms) minute.slowest = call
      if (call.code < 500) return
      failed.push(call)
      if (failed.length > mostFailed) failed.shift()
    },
    view: () => recentViewFrom({ ring, layers, startedAt, now: clock.now(), reasons, failed }),
  }
}

function count(minute: Minute, { code, source, overheadSeconds, runnerSeconds = 0 }: EndedCall): void {
  minute.calls++
  if (code === 499) minute.left++
  else if (source === 'shed') minute.shed++
  else if (code >= 500) minute.failed++
  else if (code >= 400) minute.refused++
  // No first byte: nobody waited for one to the end.
  if (overheadSeconds === undefined) return
  const [overheadMs, runnerMs] = [Math.max(0, overheadSeconds * 1_000), runnerSeconds * 1_000]
  add(minute.overhead, placeOf(overheadMs))
  add(minute.firstByte, placeOf(overheadMs + runnerMs))
  if (runnerMs > 0) add(minute.runner, placeOf(runnerMs))
}

function add(counts: Uint32Array, place: number): void {
  counts[place] = (counts[place] as number) + 1
}
