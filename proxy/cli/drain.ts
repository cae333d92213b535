import type { DrainOutcome } from '../admin/operations.ts'
import { adminOptions, adminsFromInvocation } from './admin-client.ts'
import { formatFromInvocation, outputOption, printData } from './output.ts'
import { askAll } from './replicas.ts'
import { textOption, type Verb } from './verb.ts'

/** Longest wait for calls in flight, in milliseconds; the gateway's own deadline comes first. */
const longestWaitMs = 3_600_000

/** `foldgate drain`: tells replicas to leave. */
export const drain: Verb = {
  name: 'drain',
  summary: 'tell a replica to leave: not ready, then no new calls, calls in flight may end',
  usage: '[--wait] [--reason TEXT] [--admin URL]… [-o FORMAT]',
  example: 'foldgate drain --wait --reason "node goes away"',
  options: {
    wait: { type: 'boolean', help: 'come back only when no call is in flight, or the deadline is over' },
    reason: { type: 'string', help: 'why; recorded' },
    ...adminOptions,
    ...outputOption,
  },
  async run(invocation) {
    const { io, values } = invocation
    const format = formatFromInvocation(invocation)
    const reason = textOption(invocation, 'reason')
    const { told, failed } = await askAll(
      adminsFromInvocation(invocation),
      async (admin) => {
        await admin.post('/-/drain', reason === undefined ? {} : { reason })
        return values['wait'] === true ? admin.wait<DrainOutcome>('/-/drain/wait', longestWaitMs) : undefined
      },
      io,
    )
    const rows = told.map(({ admin, value }) => ({ admin, draining: true, ...value }))
    if (!printData(io, format, rows)) {
      for (const { admin, drained, inFlight } of rows) {
        const state =
          drained === undefined ? 'draining' : drained ? 'drained' : `not drained: ${inFlight} still in flight`
        io.out(format === 'name' ? admin : `${admin} ${state}`)
      }
    }
    return failed || rows.some((row) => row.drained === false) ? 1 : 0
  },
}
