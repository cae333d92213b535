import { layers } from '../../plugins/index.ts'
import { type MetricEntry, type MetricName, metricTable } from '../../proxy/telemetry/metric-table.ts'
import { valuesOf } from './label-values.ts'

const marks = ['<!-- metrics: made by npm run generate -->', '<!-- end of metrics -->'] as const

/** The page with the list of metrics as the table has it, between its two marks. Throws when a mark is missing. */
export function pageWithMetrics(page: string): string {
  const [before, rest] = page.split(`${marks[0]}\n`)
  const after = rest?.split(marks[1])[1]
  if (before === undefined || after === undefined) throw new Error(`grafana/README.md has lost its marks: ${marks}`)
  return `${before}${marks[0]}\n\n${table()}\n${marks[1]}${after}`
}

function table(): string {
  const rows = (Object.keys(metricTable) as MetricName[]).map((name) => {
    const entry: MetricEntry = metricTable[name]
    const labels = entry.labels.map((label) => `\`${label}\``).join(', ') || '–'
    return `| \`foldgate_${name}\` | ${entry.type} | ${unitOf(name, entry)} | ${labels} | ${mostSeries(name)} | ${entry.help} |`
  })
  const named = ['| metric | type | unit | labels | series | what |', '|---|---|---|---|---|---|', ...rows]
  return [...named, '', '| label | values |', '|---|---|', ...labelRows(), ''].join('\n')
}

function unitOf(name: string, { type }: MetricEntry): string {
  const bare = name.replace(/_total$/, '')
  if (bare.endsWith('_squared_seconds')) return 's²'
  if (bare.endsWith('_seconds')) return 's'
  if (bare.endsWith('_bytes')) return 'bytes'
  if (bare.endsWith('_ratio') || bare.endsWith('_index')) return '0–1'
  if (bare.endsWith('tokens')) return 'tokens'
  return type === 'counter' ? 'count' : 'number'
}

/** How many series a metric has at most on one gateway: a number, times what the configuration names. */
function mostSeries(name: MetricName): string {
  const { labels, buckets = [], type }: MetricEntry = metricTable[name]
  let listed = type === 'histogram' ? buckets.length + 3 : 1
  const named: string[] = []
  for (const label of labels) {
    const values = valuesOf(name, label, undefined)
    if (values) listed *= values.length
    else if (label in configured) named.push(configured[label as keyof typeof configured])
  }
  // Events stand beside their layer, and a layer has only its own.
  if (name === 'layer_events_total') listed = valuesOf(name, 'event', undefined)?.length ?? 0
  return [listed, ...named].join(' × ')
}

const configured = { runner: 'runners', model: 'models' } as const

function labelRows(): string[] {
  const rows = new Map<string, string>()
  for (const name of Object.keys(metricTable) as MetricName[])
    for (const label of metricTable[name].labels) {
      const said = rows.get(label)
      const values = wordsOf(name, label)
      if (said === undefined) rows.set(label, values)
      else if (!said.includes(values)) rows.set(label, `${said}; of \`${name}\`: ${values}`)
    }
  return [...rows].map(([label, values]) => `| \`${label}\` | ${values} |`)
}

function wordsOf(name: MetricName, label: string): string {
  if (label === 'code') return 'HTTP statuses 100 to 599'
  if (label === 'runner') return 'names of `runners` in the configuration'
  if (label === 'model') return 'models of the targets of routing in the configuration'
  if (label === 'layer')
    return layers.map((layer) => layer.name).join(', ') + (name === 'shadow_comparisons_total' ? ', answer' : '')
  const values = valuesOf(name, label, undefined)
  return values ? [...new Set(values)].join(', ') : 'one, of the build'
}
