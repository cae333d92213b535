import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { gatewayJsonSchema } from '../../config/schema.ts'
import { layers } from '../../plugins/index.ts'
import { valuesSchema } from './values-schema.ts'

const root = resolve(import.meta.dirname, '../..')
const chart = 'helm/foldgate'

/** The files of the chart that are made from others: its schema, and copies of alerts and dashboards, which Helm reads only in a chart. */
export const chartFiles: Readonly<Record<string, () => string>> = {
  [`${chart}/values.schema.json`]: () =>
    `${JSON.stringify(valuesSchema(join(root, chart, 'values.yaml'), gatewayJsonSchema(layers)), null, 1)}\n`,
  ...copies(),
}

function copies(): Record<string, () => string> {
  const alerts = join(root, 'grafana/alerts.yaml')
  const dashboards = join(root, 'grafana/dashboards')
  const made: Record<string, () => string> = {}
  if (existsSync(alerts)) made[`${chart}/files/alerts.yaml`] = () => readFileSync(alerts, 'utf8')
  if (!existsSync(dashboards)) return made
  for (const name of readdirSync(dashboards).filter((each) => each.endsWith('.json')))
    made[`${chart}/files/dashboards/${name}`] = () => readFileSync(join(dashboards, name), 'utf8')
  return made
}
