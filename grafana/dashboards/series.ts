import type { MetricName, metricTable } from '../../proxy/telemetry/metric-table.ts'

type Histogram = { [N in MetricName]: (typeof metricTable)[N]['type'] extends 'histogram' ? N : never }[MetricName]
/** A series of the gateway, without its prefix: a metric of the table, or a part of a histogram. */
export type Series = MetricName | `${Histogram}_${'bucket' | 'sum' | 'count'}`

/** The gateways that the variables choose; what stands in every selector. */
const target = 'namespace=~"$namespace",job=~"$job",instance=~"$instance"'
/** The same for the native runner's own metrics. */
const runnerTarget = 'namespace=~"$namespace",job=~"$runner_job"'

/** Which series, grouped by what, and when. */
export interface Pick {
  /** More matchers, such as `code=~"5.."`. */
  readonly where?: string
  readonly by?: string
  /** How long ago, such as `1w`. */
  readonly ago?: string
  /** Default `$__rate_interval`. */
  readonly over?: string
}

/** A selector of the gateway's own series. */
export function select(name: Series, { where, ago }: Pick = {}): string {
  return `foldgate_${name}{${[target, where].filter(Boolean).join(',')}}${ago ? ` offset ${ago}` : ''}`
}

/** A selector of the gateway's process, such as `process_resident_memory_bytes`. */
export function selectProcess(name: string): string {
  return `${name}{${target}}`
}

/** A selector of what the native runner says of itself. */
export function selectRunner(name: string, where = ''): string {
  return `${name}{${[runnerTarget, where].filter(Boolean).join(',')}}`
}

const grouped = (by: string | undefined): string => (by ? `sum by (${by})` : 'sum')

/** What a counter gains a second, summed. */
export function rate(name: Series, pick: Pick = {}): string {
  const { where, by, ago, over = '$__rate_interval' } = pick
  return `${grouped(by)} (rate(${select(name, where ? { where } : {})}[${over}]${ago ? ` offset ${ago}` : ''}))`
}

/** What a counter gains over the time shown, or over `over`, summed. */
export function gain(name: Series, { where, by, over = '$__range' }: Pick = {}): string {
  return `${grouped(by)} (increase(${select(name, where ? { where } : {})}[${over}]))`
}

/** A quantile of a histogram. */
export function quantile(q: number, name: Histogram, pick: Pick = {}): string {
  const by = [pick.by, 'le'].filter(Boolean).join(', ')
  return `histogram_quantile(${q}, ${rate(`${name}_bucket`, { ...pick, by })})`
}

/** One sum over another. Nothing where there is nothing below the line, so that silence is no zero. */
export function share(part: string, whole: string): string {
  return `${part} / (${whole} > 0)`
}
