import type { LayerView } from '../admin/operations.ts'
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
  return ['LAYER', 'STAGE', 'WHERE', 'STATUS', ...(format === 'wide' ? ['ROUTES'] : [])]
}

/** One layer's row under {@link layerHead}. */
export function rowFromLayer({ name, on, stage, where, status, routes }: LayerView, format: Format): string[] {
  return [name, on ? stage : 'off', where, status, ...(format === 'wide' ? [routes.join(', ')] : [])]
}
