import type { FallbackReason } from '../../plugins/execution-context-fallback.ts'
import { type Minute, quantile } from './recent-minute.ts'

/** One call that is worth a look: one that failed, or the slowest of its minute. */
export interface SeenCall {
  /** Milliseconds since the epoch. */
  readonly at: number
  /** The id the caller knows, by which `explain` finds it. */
  readonly requestId: string
  readonly traceId: string
  readonly route: string
  readonly code: number
  readonly error?: string | undefined
  /** Until its first byte, in milliseconds; without one, until its end. */
  readonly ms: number
}

/** Quantiles in milliseconds. */
export interface Quantiles {
  readonly p50: number
  readonly p95: number
  readonly p99: number
}

/** Calls that ended within a span of minutes. What was not measured is null. */
export interface RecentSum {
  /** How many minutes, the one that is under way counted in full. */
  readonly minutes: number
  readonly calls: number
  /** Ended with 5xx; neither callers that left nor calls shed on purpose. */
  readonly failed: number
  readonly refused: number
  readonly left: number
  readonly shed: number
  /** Until the caller had the first byte. */
  readonly firstByteMs: Quantiles | null
  /** What of that the gateway itself took. */
  readonly overheadMs: Quantiles | null
  /** What of that runners took, of calls that asked one. */
  readonly runnerMs: Quantiles | null
}

/** Layers that fell back to the gateway for reasons that speak against the runner. */
export interface RecentFallback {
  readonly layer: string
  readonly count: number
  /** The reason of the last one. */
  readonly reason: string
}

/** The last hour of this process. */
export interface RecentView {
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  /** The last five minutes. */
  readonly now: RecentSum
  /** What they are held against; null while there is nothing. */
  readonly before: RecentSum | null
  /** `hour-ago`: the same five minutes an hour earlier. `since-start`: the process is younger; all before the last five minutes. */
  readonly beforeIs: 'hour-ago' | 'since-start'
  /** Of the last five minutes. */
  readonly fallbacks: readonly RecentFallback[]
  /** The last sixty minutes, oldest first; null: before the process began, or nothing measured. */
  readonly series: {
    readonly calls: readonly (number | null)[]
    readonly failed: readonly (number | null)[]
    readonly firstByteMs: readonly (number | null)[]
    readonly overheadMs: readonly (number | null)[]
  }
  /** The last calls that failed, latest first. */
  readonly failed: readonly SeenCall[]
  /** The slowest call of the last five minutes. */
  readonly slowest: SeenCall | null
}

/** What the view is made of. */
export interface RecentSource {
  readonly ring: readonly Minute[]
  readonly layers: readonly string[]
  readonly startedAt: number
  readonly now: number
  readonly reasons: ReadonlyMap<string, FallbackReason>
  /** Latest last. */
  readonly failed: readonly SeenCall[]
}

const span = 5
const hour = 60

/** The view of what was recorded, as of now. */
export function recentViewFrom(source: RecentSource): RecentView {
  const { ring, startedAt, now, failed } = source
  const [minute, first] = [Math.floor(now / 60_000), Math.floor(startedAt / 60_000)]
  // Minutes `from` to `to` ago; those that nothing was counted in are absent.
  const ago = (from: number, to: number): Minute[] =>
    ring.filter((each) => each.minute <= minute - from && each.minute >= Math.max(first, minute - to))
  const age = minute - first
  const last = ago(0, span - 1)
  const isHour = age >= hour + span - 1
  const before = isHour ? ago(hour, hour + span - 1) : ago(span, hour)
  const lasted = isHour ? span : Math.max(0, Math.min(age, hour) - span + 1)
  return {
    startedAt,
    now: sumOf(last, Math.min(span, age + 1)),
    before: lasted === 0 ? null : sumOf(before, lasted),
    beforeIs: isHour ? 'hour-ago' : 'since-start',
    fallbacks: fallbacksOf(last, source),
    series: seriesOf(source, minute, first),
    failed: failed.toReversed(),
    slowest: last.flatMap(({ slowest }) => slowest ?? []).toSorted((a, b) => b.ms - a.ms)[0] ?? null,
  }
}

function sumOf(minutes: readonly Minute[], lasted: number): RecentSum {
  const total = (what: 'calls' | 'failed' | 'refused' | 'left' | 'shed'): number =>
    minutes.reduce((sum, each) => sum + each[what], 0)
  return {
    minutes: lasted,
    ...{ calls: total('calls'), failed: total('failed'), refused: total('refused') },
    ...{ left: total('left'), shed: total('shed') },
    firstByteMs: quantilesOf(minutes.map(({ firstByte }) => firstByte)),
    overheadMs: quantilesOf(minutes.map(({ overhead }) => overhead)),
    runnerMs: quantilesOf(minutes.map(({ runner }) => runner)),
  }
}

function quantilesOf(counts: readonly Uint32Array[]): Quantiles | null {
  const at = (q: number): number => rounded(quantile(counts, q) ?? 0)
  return quantile(counts, 0.5) === undefined ? null : { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}

const rounded = (ms: number): number => Number(ms.toPrecision(3))

function fallbacksOf(minutes: readonly Minute[], { layers, reasons }: RecentSource): RecentFallback[] {
  return layers.flatMap((layer, at) => {
    const count = minutes.reduce((sum, { fallbacks }) => sum + (fallbacks[at] as number), 0)
    return count === 0 ? [] : [{ layer, count, reason: reasons.get(layer) ?? '' }]
  })
}

function seriesOf({ ring }: RecentSource, minute: number, first: number): RecentView['series'] {
  const minutes = Array.from({ length: hour }, (_, place) => minute - hour + 1 + place)
  const at = (number: number): Minute | undefined => {
    const slot = ring[number % ring.length]
    return slot?.minute === number ? slot : undefined
  }
  const counted = (what: 'calls' | 'failed'): (number | null)[] =>
    minutes.map((number) => (number < first ? null : (at(number)?.[what] ?? 0)))
  const p95 = (what: 'firstByte' | 'overhead'): (number | null)[] =>
    minutes.map((number) => {
      const slot = number < first ? undefined : at(number)
      const ms = slot && quantile([slot[what]], 0.95)
      return ms === undefined ? null : rounded(ms)
    })
  return {
    calls: counted('calls'),
    failed: counted('failed'),
    firstByteMs: p95('firstByte'),
    overheadMs: p95('overhead'),
  }
}
