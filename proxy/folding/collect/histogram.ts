import { build, decodeFromCompressedBase64, encodeIntoCompressedBase64, type Histogram } from 'hdr-histogram-js'

/** Times in milliseconds, each within 1 % of the truth, up to an hour. Merging is adding: the order does not matter. */
export interface TimeHistogram {
  readonly count: number
  add(ms: number): void
  /** The value that so many percent of the times do not exceed; 0 without any. */
  percentile(percent: number): number
  /** A text of about 100 to 2,000 characters that {@link mergedHistograms} reads. */
  text(): string
}

const highestMs = 3_600_000

/** Makes an empty {@link TimeHistogram}; it takes 9 KB. */
export function createTimeHistogram(): TimeHistogram {
  return wrapped(empty())
}

/** Histograms from their texts, made one. Throws `Error` of the library for what is no such text. */
export function mergedHistograms(texts: Iterable<string>): TimeHistogram {
  const sum = empty()
  for (const text of texts) sum.add(decodeFromCompressedBase64(text, 32, false))
  return wrapped(sum)
}

function empty(): Histogram {
  return build({
    bitBucketSize: 32,
    autoResize: false,
    lowestDiscernibleValue: 1,
    highestTrackableValue: highestMs,
    numberOfSignificantValueDigits: 2,
    useWebAssembly: false,
  })
}

function wrapped(histogram: Histogram): TimeHistogram {
  return {
    get count() {
      return histogram.totalCount
    },
    add: (ms) => histogram.recordValue(Math.min(highestMs, Math.max(0, Math.round(ms)))),
    percentile: (percent) => (histogram.totalCount === 0 ? 0 : histogram.getValueAtPercentile(percent)),
    text: () => encodeIntoCompressedBase64(histogram),
  }
}
