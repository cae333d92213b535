import { sayStage } from '../../plugins/stage.ts'
import type { LayerView } from '../admin/layer-view.ts'
import { adminOptions, adminsFromInvocation } from './admin-client.ts'
import { type Format, formatFromInvocation, outputOption, printData, tableFromRows } from './output.ts'
import { askAll } from './replicas.ts'
import type { Verb } from './verb.ts'

/** `foldgate layers`: where every layer runs. */
export const layers: Verb = {
  name: 'layers',
  summary: 'show where every layer runs, on every replica',
  usage: '[--admin URL]… [-o FORMAT]',
  example: 'foldgate layers -o wide',
  options: { ...adminOptions, ...outputOption },
  async run(invocation) {
    const { io } = invocation
    const format = formatFromInvocation(invocation)
    const admins = adminsFromInvocation(invocation)
    const { told, failed } = await askAll(admins, (admin) => admin.get<{ layers: LayerView[] }>('/-/layers'), io)
    const rows = told.flatMap(({ admin, value }) => value.layers.map((layer) => ({ admin, ...layer })))
    if (printData(io, format, rows)) return failed ? 1 : 0
    if (format === 'name') {
      if (rows.length > 0) io.out([...new Set(rows.map((row) => row.name))].join('\n'))
    } else if (rows.length > 0) {
      const many = admins.length > 1
      const head = many ? ['ADMIN', ...layerHead(format)] : layerHead(format)
      const cells = rows.map((row) => (many ? [row.admin, ...rowFromLayer(row, format)] : rowFromLayer(row, format)))
      io.out(tableFromRows(head, cells, io.color))
    }
    return failed ? 1 : 0
  },
}

/** The head of a table of layers. */
export function layerHead(format: Format): string[] {
  return ['LAYER', 'STAGE', 'WHERE', 'STATUS', ...(format === 'wide' ? ['RUNNERS', 'POLICY', 'ROUTES'] : [])]
}

/** One layer's row under {@link layerHead}. */
export function rowFromLayer(layer: LayerView, format: Format): string[] {
  const { name, where, status, routes, policies, processes } = layer
  const able = processes.filter((process) => process.able).length
  const wide = [
    processes.length === 0 ? '–' : `${able}/${processes.length} able`,
    policies[0]?.digest.slice(0, 12) ?? '–',
    routes.join(', '),
  ]
  return [name, stageOf(layer), where, status, ...(format === 'wide' ? wide : [])]
}

/** A layer's stage in words: `off`, `gateway`, `canary 10 %`, `shadow, held`. */
export function stageOf({ on, stage, weight, held }: LayerView): string {
  if (!on) return 'off'
  return held ? `${sayStage({ stage, weight })}, held` : sayStage({ stage, weight })
}
