/** What a layer has spent in one phase: how often, how long in all, and how often at most each bound, in seconds. */
export interface LayerTimes {
  readonly count: number
  readonly sum: number
  /** Upper bounds, rising, with how many observations were at most each. */
  readonly buckets: readonly (readonly [bound: number, count: number])[]
}

const line = /^foldgate_layer_duration_seconds_(bucket|sum|count)\{([^}]*)\} (\S+)$/

/** The times of a layer's phase (`request` or `response`) in a page of metrics in Prometheus' text format. */
export function layerTimesFrom(text: string, layer: string, phase: string): LayerTimes {
  let count = 0
  let sum = 0
  const buckets: [number, number][] = []
  for (const each of text.split('\n')) {
    const [, part, labels = '', value] = line.exec(each) ?? []
    if (!part || !labels.includes(`layer="${layer}"`) || !labels.includes(`phase="${phase}"`)) continue
    if (part === 'sum') sum = Number(value)
    if (part === 'count') count = Number(value)
    const bound = /le="([^"]+)"/.exec(labels)?.[1]
    if (part === 'bucket' && bound)
      buckets.push([bound === '+Inf' ? Number.POSITIVE_INFINITY : Number(bound), Number(value)])
  }
  return { count, sum, buckets }
}

/** What was spent between two pages. */
export function timesBetween(before: LayerTimes, after: LayerTimes): LayerTimes {
  return {
    count: after.count - before.count,
    sum: after.sum - before.sum,
    buckets: after.buckets.map(([bound, count], index) => [bound, count - (before.buckets[index]?.[1] ?? 0)]),
  }
}

/** The percentile `p` in seconds, evenly spread within its bucket; NaN when nothing was observed. */
export function percentileOfTimes({ count, buckets }: LayerTimes, p: number): number {
  const rank = p * count
  let [below, under] = [0, 0]
  for (const [bound, upTo] of buckets) {
    if (upTo >= rank && upTo > under) {
      return Number.isFinite(bound) ? below + ((bound - below) * (rank - under)) / (upTo - under) : below
    }
    ;[below, under] = [bound, upTo]
  }
  return Number.NaN
}
