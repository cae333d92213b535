import { layers } from '../../plugins/index.ts'
import { metricTable } from '../../proxy/telemetry/metric-table.ts'
import { labelValues } from '../../proxy/telemetry/metric-values.ts'
import type { Matcher, Selector } from './promql.ts'

const layerNames: readonly string[] = layers.map(({ name }) => name)
const statuses = Array.from({ length: 500 }, (_, at) => String(at + 100))
/** Labels that Prometheus itself adds when it reads a gateway. */
export const targetLabels: readonly string[] = ['job', 'instance']

/** The metric of the table that a name of the exposition belongs to, without its prefix; undefined for others. */
export function tableNameFrom(metric: string): keyof typeof metricTable | undefined {
  const names = Object.keys(metricTable) as (keyof typeof metricTable)[]
  return names.find((name) => {
    const parts = metricTable[name].type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
    return parts.some((part) => metric === `foldgate_${name}${part}`)
  })
}

/** The labels that a metric of the table can have in Prometheus. */
export function labelsOf(name: keyof typeof metricTable): readonly string[] {
  const { labels, type } = metricTable[name]
  return [...labels, ...targetLabels, ...(type === 'histogram' ? ['le'] : [])]
}

/** The values that a label takes on a metric, events those of `layer` where one is given; undefined where they are not a closed list. */
export function valuesOf(
  name: keyof typeof metricTable,
  label: string,
  layer: string | undefined,
): readonly string[] | undefined {
  if (label === 'code') return statuses
  if (label === 'layer') return name === 'shadow_comparisons_total' ? [...layerNames, 'answer'] : layerNames
  if (label === 'reason' && name === 'shadow_dropped_total') return labelValues.drop
  if (label === 'event')
    return labelValues.count.flatMap((each) =>
      layer === undefined || each.startsWith(`${layer}.`) ? [each.split('.')[1] as string] : [],
    )
  if (label === 'result' && name === 'config_reloads_total') return labelValues.reload
  return labelValues[label as keyof typeof labelValues]
}

/** What a selector asks for and can never be there: unknown labels, and values that no label takes. */
export function faultsOf(name: keyof typeof metricTable, { metric, matchers }: Selector): string[] {
  const layer = matchers.find(({ label }) => label === 'layer')?.value
  return matchers.flatMap((matcher) => {
    const { label } = matcher
    if (!labelsOf(name).includes(label)) return [`${metric} has no label ${label}`]
    const values = valuesOf(name, label, layer)
    if (values === undefined) return []
    return wantedBy(matcher)
      .filter((wanted) => !values.some((value) => wanted.test(value)))
      .map((wanted) => `${metric}: no ${label} is ${wanted.source}`)
  })
}

/** What each alternative of a matcher matches. */
function wantedBy({ regex, value }: Matcher): RegExp[] {
  const each = regex ? value.split('|') : [value]
  return each.map((pattern) => new RegExp(`^(?:${pattern})$`))
}
