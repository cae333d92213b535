/** Watches how soon live answers begin, to say when comparing has to stand back. Instants and times are monotonic milliseconds. */
export interface LiveLatency {
  /** A live answer has begun after so long. */
  observed(ttftMs: number, at: number): void
  /** The newest p99 is above 1.2 × the median of those of the last hour. */
  isSlow(at: number): boolean
}

/** How long live latency is looked back on, and in what steps. */
export interface LiveLatencyParts {
  /** A window is over after so long and so many answers. Default 60,000 and 200. */
  readonly windowMs?: number
  readonly windowAnswers?: number
  /** Default 3,600,000. */
  readonly lookBackMs?: number
  /** Default 1.2. */
  readonly ratio?: number
}

interface Window {
  readonly p99: number
  readonly endedAt: number
}

/** Fewer windows than this are no baseline. */
const fewest = 5
const perOctave = 16
const buckets = 512

/** Makes a {@link LiveLatency}. What few answers say of a p99 is chance, so quiet windows last longer, and without a baseline nothing is slow. */
export function createLiveLatency(parts: LiveLatencyParts = {}): LiveLatency {
  const { windowMs = 60_000, windowAnswers = 200, lookBackMs = 3_600_000, ratio = 1.2 } = parts
  const counts = new Uint32Array(buckets)
  let windows: Window[] = []
  let [answers, begunAt] = [0, Number.NaN]
  return {
    observed(ttftMs, at) {
      if (answers === 0) begunAt = at
      const bucket = Math.min(buckets - 1, Math.floor(perOctave * Math.log2(Math.max(0, ttftMs) + 1)))
      counts[bucket] = (counts[bucket] ?? 0) + 1
      answers++
      if (answers < windowAnswers || at - begunAt < windowMs) return
      windows = [
        ...windows.filter(({ endedAt }) => endedAt > at - lookBackMs),
        { p99: p99Of(counts, answers), endedAt: at },
      ]
      counts.fill(0)
      answers = 0
    },
    isSlow(at) {
      const kept = windows.filter(({ endedAt }) => endedAt > at - lookBackMs)
      const last = kept.at(-1)
      return last !== undefined && kept.length >= fewest && last.p99 > ratio * medianOf(kept.map(({ p99 }) => p99))
    },
  }
}

function p99Of(counts: Uint32Array, total: number): number {
  let left = total * 0.01
  for (let bucket = counts.length - 1; bucket >= 0; bucket--) {
    left -= counts[bucket] ?? 0
    if (left < 0) return 2 ** ((bucket + 0.5) / perOctave) - 1
  }
  return 0
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0
}
