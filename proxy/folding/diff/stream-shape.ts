/** How a stream came over time. Milliseconds; quantiles are the upper ends of buckets 19 % wide. */
export interface StreamShape {
  /** From the start to the first byte; undefined while there is none. */
  readonly ttftMs: number | undefined
  readonly durationMs: number
  readonly parts: number
  readonly bytes: number
  /** Bytes of content, reasoning and tool arguments. */
  readonly contentBytes: number
  readonly gapP50Ms: number
  readonly gapP99Ms: number
  readonly maxGapMs: number
  /** Parts a second between the first and the last; 0 for fewer than two. */
  readonly partsPerSecond: number
}

/** Measures one stream, in constant memory. Instants are monotonic milliseconds. */
export interface ShapeMeter {
  /** Something came; gives the gap since the last, undefined for the first. */
  came(at: number, bytes: number): number | undefined
  content(bytes: number): void
  readonly contentBytes: number
  /** The last instant at which anything came; undefined while nothing has. */
  readonly lastAt: number | undefined
  shape(at: number): StreamShape
}

const buckets = 96
const perOctave = 4

/** Makes a {@link ShapeMeter} of a stream that was asked for at `startedAt`. */
export function createShapeMeter(startedAt: number): ShapeMeter {
  const gaps = new Uint32Array(buckets)
  let [parts, bytes, contentBytes, maxGap] = [0, 0, 0, 0]
  let first: number | undefined
  let last: number | undefined
  return {
    get contentBytes() {
      return contentBytes
    },
    get lastAt() {
      return last
    },
    came(at, size) {
      parts++
      bytes += size
      first ??= at
      const gap = last === undefined ? undefined : Math.max(0, at - last)
      last = at
      if (gap === undefined) return undefined
      maxGap = Math.max(maxGap, gap)
      const bucket = Math.min(buckets - 1, Math.floor(perOctave * Math.log2(gap + 1)))
      gaps[bucket] = (gaps[bucket] ?? 0) + 1
      return gap
    },
    content(size) {
      contentBytes += size
    },
    shape: (at) => ({
      ttftMs: first === undefined ? undefined : first - startedAt,
      durationMs: at - startedAt,
      parts,
      bytes,
      contentBytes,
      gapP50Ms: Math.min(maxGap, quantile(gaps, parts - 1, 0.5)),
      gapP99Ms: Math.min(maxGap, quantile(gaps, parts - 1, 0.99)),
      maxGapMs: maxGap,
      partsPerSecond:
        first === undefined || last === undefined || last <= first ? 0 : ((parts - 1) * 1_000) / (last - first),
    }),
  }
}

function quantile(counts: Uint32Array, total: number, share: number): number {
  let seen = 0
  for (const [bucket, count] of counts.entries()) {
    seen += count
    if (count > 0 && seen >= total * share) return 2 ** ((bucket + 1) / perOctave) - 1
  }
  return 0
}
