import { dashboards } from '../../grafana/dashboards/index.ts'

const folders = ['grafana/dashboards', 'helm/foldgate/files/dashboards']

/** The dashboards as files: those that are read by hand or by Grafana itself, and the chart's, since Helm reads only what lies in a chart. */
export const dashboardFiles: Readonly<Record<string, () => string>> = Object.fromEntries(
  folders.flatMap((folder) =>
    Object.entries(dashboards).map(([name, made]) => [`${folder}/${name}.json`, () => textFrom(made)]),
  ),
)

/** As the project's formatter has it: short lists of plain values stand on one line. */
function textFrom(made: unknown): string {
  const plainLists = /\[\n\s+([^[\]{}]*?)\n\s+\]/g
  const text = JSON.stringify(made, null, 2)
  return `${text.replaceAll(plainLists, (_, inside: string) => `[${inside.replaceAll(/,\n\s+/g, ', ')}]`)}\n`
}
