import { gatewayError } from '../../plugins/errors.ts'
import type { ChangeView } from '../admin/stage-view.ts'
import { adminOptions, adminsFromInvocation } from './admin-client.ts'
import { formatFromInvocation, outputOption, printData, tableFromRows } from './output.ts'
import { askAll } from './replicas.ts'
import { textOption, type Verb } from './verb.ts'

/** `foldgate history`: how layers have moved, by whom and why. */
export const history: Verb = {
  name: 'history',
  summary: 'show how layers have moved, by whom and why, on every replica; latest last',
  usage: '[--limit N] [--admin URL]… [-o FORMAT]',
  example: 'foldgate history --limit 20',
  options: {
    limit: { type: 'string', help: 'how many of the latest changes of each replica (default 100, at most 1000)' },
    ...adminOptions,
    ...outputOption,
  },
  async run(invocation) {
    const { io } = invocation
    const format = formatFromInvocation(invocation)
    const limit = limitFrom(textOption(invocation, 'limit'))
    const admins = adminsFromInvocation(invocation)
    const path = `/-/history?limit=${limit}`
    const { told, failed } = await askAll(admins, (admin) => admin.get<{ changes: ChangeView[] }>(path), io)
    const rows = told
      .flatMap(({ admin, value }) => value.changes.map((change) => ({ admin, ...change })))
      .toSorted((a, b) => a.at - b.at)
    if (printData(io, format, rows)) return failed ? 1 : 0
    if (format === 'name') for (const name of new Set(rows.map(({ layer }) => layer))) io.out(name)
    else if (rows.length > 0) {
      const many = admins.length > 1
      const head = ['AT', 'LAYER', 'FROM', 'TO', 'BY', 'REASON']
      const cells = rows.map(({ admin, at, layer, from, to, actor, reason }) => [
        ...(many ? [admin] : []),
        ...[new Date(at).toISOString(), layer, from, to, actor, reason],
      ])
      io.out(tableFromRows(many ? ['ADMIN', ...head] : head, cells, io.color))
    } else if (!failed) io.say('no layer has moved')
    return failed ? 1 : 0
  },
}

function limitFrom(text = '100'): number {
  const limit = Number(text)
  if (Number.isInteger(limit) && limit >= 1 && limit <= 1_000) return limit
  throw gatewayError('usage', '--limit takes a whole number from 1 to 1000')
}
