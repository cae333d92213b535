import type { Builder } from '@grafana/grafana-foundation-sdk/cog'
import {
  type AnnotationQuery,
  AnnotationQueryBuilder,
  type Dashboard,
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  TextBoxVariableBuilder,
  type VariableModel,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard'
import { datasource, type PanelSource } from './panel.ts'
import { select } from './series.ts'

/** A dashboard as it is described. */
export interface DashboardSource {
  /** Stands in links; never changes. */
  readonly uid: string
  readonly title: string
  readonly description: string
  /** Beside data source, namespace, job and instance. */
  readonly variables?: readonly Variable[]
  /** Default the last six hours. */
  readonly from?: string
  readonly rows: readonly Row[]
}

/** A variable that takes its values from a label. */
export interface Variable {
  readonly name: string
  readonly label: string
  readonly description: string
  /** A series that has it, and the label. */
  readonly of: readonly [series: string, label: string]
  /** What matches when all are chosen; default `.+`. */
  readonly all?: string
}

/** Panels under a heading. */
export interface Row {
  readonly title: string
  readonly panels: readonly PanelSource[]
}

const inNamespace = 'namespace=~"$namespace"'

/** Which gateways are looked at. A label `namespace` is there in Kubernetes only, so all of them are also those without one. */
const whichGateways: readonly Variable[] = [
  {
    name: 'namespace',
    label: 'Namespace',
    description: 'Of the gateways, in Kubernetes.',
    of: ['foldgate_build_info', 'namespace'],
    all: '.*',
  },
  {
    name: 'job',
    label: 'Job',
    description: 'Gateways that belong together.',
    of: [`foldgate_build_info{${inNamespace}}`, 'job'],
  },
  {
    name: 'instance',
    label: 'Instance',
    description: 'One replica, or all.',
    of: [`foldgate_build_info{${inNamespace},job=~"$job"}`, 'instance'],
  },
]

/** The layers of those gateways. */
export const layerVariable: Variable = {
  name: 'layer',
  label: 'Layer',
  description: 'One layer, or all.',
  of: [`foldgate_layer_stage{${inNamespace},job=~"$job"}`, 'layer'],
}

/** The runners behind them, and the jobs under which native runners are read. */
export const runnerVariables: readonly Variable[] = [
  {
    name: 'runner',
    label: 'Runner',
    description: 'As the gateway’s configuration names it.',
    of: [`foldgate_runner_available{${inNamespace},job=~"$job"}`, 'runner'],
  },
  {
    name: 'runner_job',
    label: 'Runner job',
    description: 'Under which Prometheus reads native runners.',
    of: [`foldgate_runner_running{${inNamespace}}`, 'job'],
  },
]

/** Where links to runbooks and to the on-call page lead; README.md says how to set them. */
const places = {
  runbooks: 'https://git.example.com/foldgate/blob/main/grafana/runbooks',
  oncall: 'http://127.0.0.1:9901',
} as const

function variablesOf(more: readonly Variable[] = []): Builder<VariableModel>[] {
  return [
    new DatasourceVariableBuilder('datasource')
      .label('Data source')
      .description('The Prometheus that reads the gateways.')
      .type('prometheus'),
    ...[...whichGateways, ...more].map(queryVariable),
    textVariable('runbooks', 'Runbooks at', places.runbooks),
    textVariable('oncall', 'On-call page', places.oncall),
  ]
}

function queryVariable({
  name,
  label,
  description,
  of: [series, wanted],
  all = '.+',
}: Variable): Builder<VariableModel> {
  return new QueryVariableBuilder(name)
    .label(label)
    .description(description)
    .datasource(datasource)
    .query({ qryType: 1, query: `label_values(${series},${wanted})`, refId: `variable-${name}` })
    .definition(`label_values(${series},${wanted})`)
    .multi(true)
    .includeAll(true)
    .allValue(all)
    .current({ selected: true, text: ['All'], value: ['$__all'] })
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc)
}

function textVariable(name: string, label: string, place: string): Builder<VariableModel> {
  return new TextBoxVariableBuilder(name).label(label).description('Where links lead.').defaultValue(place)
}

/** What happened, in the dashboards' order: a layer moved on or back, was taken back, or a configuration was read. */
function annotations(): Builder<AnnotationQuery>[] {
  const stage = select('layer_stage')
  const increase = (series: string, by: string): string => `sum by (${by}) (increase(${series}[$__rate_interval])) > 0`
  return [
    note('Stage changes', 'blue', {
      expr: `sum by (job, layer) (changes(${stage}[$__rate_interval])) > 0`,
      says: ['{{layer}} moved', 'The layer {{layer}} of {{job}} is at another stage.', 'layer'],
    }),
    note('Steps back', 'orange', {
      expr: `max by (job, layer) (${stage} offset $__rate_interval) - max by (job, layer) (${stage}) > 0`,
      says: ['{{layer}} went back', 'The layer {{layer}} of {{job}} is at an earlier stage than before.', 'layer'],
    }),
    note('Rollbacks', 'red', {
      expr: increase(select('rollbacks_total'), 'job, layer, cause'),
      says: ['{{layer}} rolled back ({{cause}})', 'The layer {{layer}} of {{job}} was taken back.', 'layer,cause'],
    }),
    note('Configuration', 'purple', {
      expr: increase(select('config_reloads_total'), 'job, instance, result'),
      says: ['Configuration {{result}}', '{{instance}} of {{job}} read its configuration.', 'instance,result'],
    }),
    note('Restarts', 'semi-dark-yellow', {
      expr: `changes(process_start_time_seconds{namespace=~"$namespace",job=~"$job",instance=~"$instance"}[$__rate_interval]) > 0`,
      says: [
        '{{instance}} restarted',
        'The gateway {{instance}} of {{job}} is another process than before.',
        'instance',
      ],
    }),
  ]
}

interface Note {
  readonly expr: string
  /** Title, text, and the labels that become tags. */
  readonly says: readonly [title: string, text: string, tags: string]
}

function note(name: string, color: string, { expr, says: [title, text, tags] }: Note): Builder<AnnotationQuery> {
  return new AnnotationQueryBuilder()
    .name(name)
    .datasource(datasource)
    .enable(true)
    .iconColor(color)
    .expr(expr)
    .step('15s')
    .titleFormat(title)
    .textFormat(text)
    .tagKeys(tags)
}

/** The dashboard, as Grafana reads it (classic model). */
export function dashboardFrom({
  uid,
  title,
  description,
  variables,
  from = 'now-6h',
  rows,
}: DashboardSource): Dashboard {
  const made = new DashboardBuilder(`Foldgate / ${title}`)
    .uid(uid)
    .description(description)
    .tags(['foldgate'])
    .timezone('browser')
    .refresh('30s')
    .time({ from, to: 'now' })
    .tooltip(DashboardCursorSync.Crosshair)
    .readonly()
    .variables(variablesOf(variables))
    .annotations(annotations())
    .links([
      new DashboardLinkBuilder('Foldgate')
        .type(DashboardLinkType.Dashboards)
        .tags(['foldgate'])
        .keepTime(true)
        .includeVars(true),
      new DashboardLinkBuilder('On-call page').type(DashboardLinkType.Link).url('${oncall}/').targetBlank(true),
      new DashboardLinkBuilder('Runbooks').type(DashboardLinkType.Link).url('${runbooks}/README.md').targetBlank(true),
    ])
  for (const row of rows) {
    made.withRow(new RowBuilder(row.title))
    for (const panel of row.panels) made.withPanel(panel)
  }
  const built = made.build()
  for (const [index, panel] of (built.panels ?? []).entries()) panel.id = index + 1
  // The library puts links and annotations into a menu; whoever is on call is to see them.
  for (const { placement: _, ...shown } of built.annotations.list?.splice(0) ?? []) built.annotations.list?.push(shown)
  for (const { placement: _, ...shown } of built.links?.splice(0) ?? []) built.links?.push(shown)
  return built
}
