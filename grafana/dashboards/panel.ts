import type { Builder, Dataquery } from '@grafana/grafana-foundation-sdk/cog'
import {
  GraphThresholdsStyleConfigBuilder,
  GraphThresholdsStyleMode,
  LegendDisplayMode,
  LegendPlacement,
  ReduceDataOptionsBuilder,
  SortOrder,
  StackingConfigBuilder,
  StackingMode,
  TooltipDisplayMode,
  VisibilityMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common'
import {
  type DashboardLink,
  DashboardLinkBuilder,
  DashboardLinkType,
  type Panel,
  type Threshold,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  type ValueMapping,
} from '@grafana/grafana-foundation-sdk/dashboard'
import * as heatmap from '@grafana/grafana-foundation-sdk/heatmap'
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus'
import * as stats from '@grafana/grafana-foundation-sdk/stat'
import * as timelines from '@grafana/grafana-foundation-sdk/statetimeline'
import * as tables from '@grafana/grafana-foundation-sdk/table'
import * as texts from '@grafana/grafana-foundation-sdk/text'
import * as timeseries from '@grafana/grafana-foundation-sdk/timeseries'

/** A panel, not built yet. */
export type PanelSource = Builder<Panel>

/** The data source that the variable chooses. */
export const datasource = { type: 'prometheus', uid: '${datasource}' } as const

/** What a panel shows: legends by their expressions, or one expression. */
export type Queries = string | Readonly<Record<string, string>>

/** What every panel has. */
export interface PanelSpec {
  readonly title: string
  /** What is seen, and what it means when it moves. */
  readonly description: string
  /** Of Grafana's list: `s`, `reqps`, `percentunit`, `bytes`, `short`, … */
  readonly unit: string
  readonly queries: Queries
  /** Columns of 24; default 12. */
  readonly width?: number
  /** Rows; default 8. */
  readonly height?: number
  /** From which value on a panel turns orange, and red. */
  readonly warns?: number
  readonly alarms?: number
  /** Runbooks by the names of their pages. */
  readonly runbooks?: readonly string[]
}

/** What a graph can have beside. */
export interface GraphSpec extends PanelSpec {
  readonly stacked?: boolean
  /** Points carry the traces of single calls; only where the query reads a histogram. */
  readonly exemplars?: boolean
  readonly max?: number
}

function queriesOf(
  spec: Pick<PanelSpec, 'queries'>,
  style: (query: DataqueryBuilder) => DataqueryBuilder,
): Builder<Dataquery>[] {
  const list = typeof spec.queries === 'string' ? { __auto: spec.queries } : spec.queries
  return Object.entries(list).map(([legend, expr], index) => {
    const query = new DataqueryBuilder().refId(String.fromCharCode(65 + index)).datasource(datasource)
    return style(query.expr(expr).legendFormat(legend))
  })
}

function stepsOf({ warns, alarms }: PanelSpec): Threshold[] {
  const from = (value: number | undefined, color: string): Threshold[] =>
    value === undefined ? [] : [{ value, color }]
  const descending = warns !== undefined && alarms !== undefined && alarms < warns
  if (descending) return [{ value: null, color: 'red' }, ...from(alarms, 'orange'), ...from(warns, 'green')]
  return [{ value: null, color: 'green' }, ...from(warns, 'orange'), ...from(alarms, 'red')]
}

const thresholdsOf = (spec: PanelSpec): ThresholdsConfigBuilder =>
  new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(stepsOf(spec))

/** A link to a runbook, at the place that the variable names. */
function runbookLink(page: string): Builder<DashboardLink> {
  return new DashboardLinkBuilder(`Runbook: ${page}`)
    .type(DashboardLinkType.Link)
    .url(`\${runbooks}/${page}.md`)
    .targetBlank(true)
}

interface Framed<Self> {
  title(title: string): Self
  description(description: string): Self
  datasource(ref: typeof datasource): Self
  span(width: number): Self
  height(rows: number): Self
  unit(unit: string): Self
  links(links: Builder<DashboardLink>[]): Self
  thresholds(thresholds: ThresholdsConfigBuilder): Self
}

function framed<Self extends Framed<Self>>(builder: Self, spec: PanelSpec): Self {
  return builder
    .title(spec.title)
    .description(spec.description)
    .datasource(datasource)
    .span(spec.width ?? 12)
    .height(spec.height ?? 8)
    .unit(spec.unit)
    .links((spec.runbooks ?? []).map(runbookLink))
    .thresholds(thresholdsOf(spec))
}

const legend = (): VizLegendOptionsBuilder =>
  new VizLegendOptionsBuilder()
    .showLegend(true)
    .displayMode(LegendDisplayMode.Table)
    .placement(LegendPlacement.Bottom)
    .calcs(['lastNotNull', 'max'])
const tooltip = (): VizTooltipOptionsBuilder =>
  new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending)

/** Lines over time. */
export function graph(spec: GraphSpec): PanelSource {
  const panel = framed(new timeseries.PanelBuilder(), spec)
    .targets(queriesOf(spec, (query) => query.range().exemplar(spec.exemplars ?? false)))
    .legend(legend())
    .tooltip(tooltip())
    .fillOpacity(spec.stacked ? 30 : 8)
    .lineWidth(1)
    .showPoints(VisibilityMode.Never)
    .min(0)
  if (spec.max !== undefined) panel.max(spec.max)
  if (spec.warns !== undefined || spec.alarms !== undefined)
    panel.thresholdsStyle(new GraphThresholdsStyleConfigBuilder().mode(GraphThresholdsStyleMode.Dashed))
  return spec.stacked ? panel.stacking(new StackingConfigBuilder().mode(StackingMode.Normal).group('A')) : panel
}

/** Numbers as they are now; coloured from `warns` and `alarms` on. */
export function stat(spec: PanelSpec & { readonly none?: string }): PanelSource {
  return framed(new stats.PanelBuilder(), { width: 4, height: 4, ...spec })
    .targets(queriesOf(spec, (query) => query.instant()))
    .reduceOptions(new ReduceDataOptionsBuilder().calcs(['lastNotNull']))
    .noValue(spec.none ?? 'no data')
}

/** A row for each series, a column for each moment, darker the more there is. */
export function heat(spec: PanelSpec): PanelSource {
  return framed(new heatmap.PanelBuilder(), spec)
    .targets(queriesOf(spec, (query) => query.range()))
    .calculate(false)
    .yAxis(new heatmap.YAxisConfigBuilder().axisLabel(''))
    .color(
      new heatmap.HeatmapColorOptionsBuilder()
        .mode(heatmap.HeatmapColorMode.Scheme)
        .scheme('Oranges')
        .fill('dark-orange')
        .exponent(0.5)
        .steps(64),
    )
    .cellGap(1)
    .showLegend()
}

/** A bar for each series, coloured by what it stands at. */
export function timeline(spec: PanelSpec, mappings: ValueMapping[]): PanelSource {
  return framed(new timelines.PanelBuilder(), spec)
    .targets(queriesOf(spec, (query) => query.range()))
    .mappings(mappings)
    .mergeValues(true)
    .showValue(VisibilityMode.Auto)
    .legend(legend().calcs([]))
}

/** What a table shows. */
export interface TableSpec extends PanelSpec {
  /** Columns that say nothing here. */
  readonly hides?: readonly string[]
}

/** A line for each series as it is now, a column for each label; several queries are joined by their labels. */
export function table(spec: TableSpec, mappings: ValueMapping[] = []): PanelSource {
  const excludeByName = Object.fromEntries(['Time', ...(spec.hides ?? [])].map((name) => [name, true]))
  const names = typeof spec.queries === 'string' ? [] : Object.keys(spec.queries)
  const column = (index: number): string => (names.length === 1 ? 'Value' : `Value #${String.fromCharCode(65 + index)}`)
  const renameByName = Object.fromEntries(names.map((name, index) => [column(index), name]))
  return framed(new tables.PanelBuilder(), spec)
    .targets(queriesOf(spec, (query) => query.instant().format(PromQueryFormat.Table)))
    .mappings(mappings)
    .transformations([
      { id: 'merge', options: {} },
      { id: 'organize', options: { excludeByName, renameByName } },
    ])
}

/** Words, in Markdown. */
export function words(title: string, content: string, height = 8): PanelSource {
  return new texts.PanelBuilder()
    .title(title)
    .description('What to do with what is shown here.')
    .span(24)
    .height(height)
    .mode(texts.TextMode.Markdown)
    .content(content)
    .transparent(true)
}
