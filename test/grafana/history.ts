/** When the past is told, and as what. */
export interface Past {
  /** Labels that Prometheus would have added. */
  readonly labels: Readonly<Record<string, string>>
  /** Seconds since the epoch: from, to, and how far apart samples are. */
  readonly from: number
  readonly to: number
  readonly step: number
}

const counts = /_(?:total|bucket|count|sum)$/

/**
 * What a gateway exported, told as if it had gone on exporting it: counters and histograms gain once a step what they had gained in all,
 * gauges stay. Only metrics that `wanted` matches. The text is OpenMetrics with times, for `promtool tsdb create-blocks-from openmetrics`.
 */
export function historyFrom(exposition: string, wanted: RegExp, past: Past): string {
  const added = Object.entries(past.labels).map(([name, value]) => `${name}="${value}"`)
  const lines = exposition.split('\n').flatMap((line) => {
    const [, name = '', , labels = '', value = ''] = /^(\w+)(\{(.*)\})? ([^ ]+)/.exec(line) ?? []
    if (!wanted.test(name)) return []
    const series = `${name}{${[...(labels ? [labels] : []), ...added].join(',')}}`
    return stepsOf(past).map((at, turn) => `${series} ${Number(value) * (counts.test(name) ? turn + 1 : 1)} ${at}`)
  })
  return `${lines.join('\n')}\n# EOF\n`
}

function stepsOf({ from, to, step }: Past): number[] {
  return Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, turn) => from + turn * step)
}
