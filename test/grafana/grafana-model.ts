import { readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { pageFrom, root } from '../docs/page.ts'

/** A data source as a query names it. */
export interface DatasourceRef {
  readonly type?: string
  readonly uid?: string
}

/** A query of a panel. */
export interface Target {
  readonly refId: string
  readonly expr: string
  readonly legendFormat?: string
  readonly instant?: boolean
  readonly exemplar?: boolean
  readonly datasource?: DatasourceRef
}

/** A panel, or the heading of a row. */
export interface PanelModel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly datasource?: DatasourceRef
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: readonly Target[]
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } }
  readonly links?: readonly { readonly title: string; readonly url?: string }[]
  readonly options?: { readonly content?: string }
}

/** A variable at the top. */
export interface VariableModel {
  readonly name: string
  readonly type: string
  readonly query: string | { readonly query: string }
  readonly datasource?: DatasourceRef
  readonly multi?: boolean
  readonly allValue?: string
  readonly refresh?: number
}

/** What is marked in every graph. */
export interface AnnotationModel {
  readonly name: string
  readonly expr: string
  readonly datasource: DatasourceRef
  readonly titleFormat: string
  readonly textFormat: string
  readonly tagKeys: string
}

/** A dashboard as its file has it. */
export interface DashboardModel {
  readonly uid: string
  readonly title: string
  readonly description: string
  readonly tags: readonly string[]
  readonly timezone: string
  readonly refresh: string
  readonly schemaVersion: number
  readonly editable: boolean
  readonly panels: readonly PanelModel[]
  readonly templating: { readonly list: readonly VariableModel[] }
  readonly annotations: { readonly list: readonly AnnotationModel[] }
  readonly links: readonly { readonly title: string; readonly type: string; readonly url?: string }[]
}

const folder = 'grafana/dashboards'

/** Every dashboard as its file has it, with the name of the file. */
export const dashboardModels: readonly (DashboardModel & { readonly file: string })[] = readdirSync(
  resolve(root, folder),
)
  .filter((name) => name.endsWith('.json'))
  .map((file) => ({ file, ...(JSON.parse(pageFrom(`${folder}/${file}`)) as DashboardModel) }))

/** The panels of a dashboard that show something measured. */
export function measuring({ panels }: DashboardModel): readonly PanelModel[] {
  return panels.filter(({ type }) => type !== 'row' && type !== 'text')
}

/** The expression of a query variable, such as `label_values(foldgate_build_info,job)`; empty for others. */
export function queryOf({ type, query }: VariableModel): string {
  return type === 'query' && typeof query === 'object' ? query.query : ''
}

/** A time that stands for each of Grafana's own, and `.+` for what variables choose. */
export function filledIn(expr: string, times: { readonly rate: string; readonly range: string }): string {
  return expr
    .replaceAll('$__rate_interval', times.rate)
    .replaceAll('$__range', times.range)
    .replaceAll('"$namespace"', '".*"')
    .replaceAll(/"\$\w+(\|\w+)?"/g, '".+"')
    .replaceAll(/\$\w+/g, '.+')
}
