import { setTimeout as sleep } from 'node:timers/promises'
import { gatewayError } from '../../plugins/errors.ts'
import type { StatusView } from '../admin/operations.ts'
import { type AdminClient, adminOptions, adminsFromInvocation } from './admin-client.ts'
import { type Format, formatFromInvocation, outputOption, printData } from './output.ts'
import { askAll } from './replicas.ts'
import { linesFromStatus } from './status-lines.ts'
import { type ExitCode, type Io, textOption, type Verb } from './verb.ts'

/** `foldgate status [-w]`: every replica at a glance. */
export const status: Verb = {
  name: 'status',
  summary: 'show every replica at a glance; exit code 3 when something is degraded or rolled back',
  usage: '[-w] [--admin URL]… [-o FORMAT]',
  example: 'foldgate status -w --admin http://10.0.0.4:9901 --admin http://10.0.0.5:9901 --token-file oncall.token',
  options: {
    watch: { type: 'boolean', short: 'w', help: 'go on showing it until interrupted' },
    interval: { type: 'string', help: 'seconds between two looks with -w (default 2)' },
    ...adminOptions,
    ...outputOption,
  },
  async run(invocation) {
    const { io } = invocation
    const admins = adminsFromInvocation(invocation)
    const format = formatFromInvocation(invocation)
    if (invocation.values['watch'] !== true) return look(admins, format, io)
    const ms = intervalFrom(textOption(invocation, 'interval')) * 1_000
    let code: ExitCode = 0
    while (!io.signal.aborted) {
      if (io.terminal) io.out(homeAndClear)
      code = await look(admins, format, io)
      await sleep(ms, undefined, { signal: io.signal }).catch(() => undefined)
    }
    return code
  },
}

const homeAndClear = '\u001b[H\u001b[2J'

function intervalFrom(text = '2'): number {
  const seconds = Number(text)
  if (seconds > 0 && seconds <= 3_600) return seconds
  throw gatewayError('usage', '--interval takes seconds between 0 and 3600')
}

function isRolledBack({ on, stage }: StatusView['layers'][number]): boolean {
  return on && stage === 'rolled-back'
}

async function look(admins: readonly AdminClient[], format: Format, io: Io): Promise<ExitCode> {
  const { told, failed } = await askAll(admins, (admin) => admin.get<StatusView>('/-/status'), io)
  if (io.signal.aborted) return 0
  const rows = told.map(({ admin, value }) => ({ admin, ...value }))
  if (!printData(io, format, rows)) {
    for (const row of rows)
      io.out(format === 'name' ? `${row.admin} ${row.state}` : linesFromStatus(row, { io, format }))
  }
  if (failed) return 1
  return told.some(({ value }) => value.state === 'degraded' || value.layers.some(isRolledBack)) ? 3 : 0
}
