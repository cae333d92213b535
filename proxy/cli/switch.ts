import { gatewayError } from '../../plugins/errors.ts'
import type { SwitchOutcome } from '../admin/operations.ts'
import { type AdminClient, adminsFromInvocation } from './admin-client.ts'
import { formatFromInvocation, printData } from './output.ts'
import { askAll } from './replicas.ts'
import { reasonFromInvocation, stageOptions } from './stage-asking.ts'
import type { Invocation, Verb } from './verb.ts'

/** `foldgate freeze`: nothing moves forward on any replica until it is turned off; rollbacks act as ever. */
export const freeze: Verb = {
  name: 'freeze',
  summary: 'let nothing move forward, on all replicas, until --off; rollbacks still act',
  usage: '[--off] --reason TEXT [--admin URL]… [-o FORMAT]',
  example: 'foldgate freeze --reason "release week"\nfoldgate freeze --off --reason "release is out"',
  options: { off: { type: 'boolean', help: 'let layers move again' }, ...stageOptions },
  run: (invocation) => turn(invocation, { path: '/-/freeze', words: ['moving', 'frozen'] }),
}

/** `foldgate degrade --no-stream`: streams are made from whole answers until it is turned off. */
export const degrade: Verb = {
  name: 'degrade',
  summary: 'ask runners for whole answers where callers ask for streams, on all replicas, until --off',
  usage: '--no-stream [--off] --reason TEXT [--admin URL]… [-o FORMAT]',
  example: 'foldgate degrade --no-stream --reason "streams break at the edge, incident 7"',
  options: {
    'no-stream': { type: 'boolean', help: 'callers that ask for a stream get one made from a whole answer' },
    off: { type: 'boolean', help: 'stream again' },
    ...stageOptions,
  },
  run(invocation) {
    const { values } = invocation
    if (values['no-stream'] !== true && values['off'] !== true)
      throw gatewayError('usage', 'say what to do without: --no-stream, or --off to end it')
    return turn(invocation, { path: '/-/degrade', words: ['streams', 'no streams'] })
  },
}

interface Turning {
  readonly path: string
  readonly words: readonly [off: string, on: string]
}

async function turn(invocation: Invocation, { path, words }: Turning): Promise<number> {
  const { io } = invocation
  const [format, reason] = [formatFromInvocation(invocation), reasonFromInvocation(invocation)]
  const off = invocation.values['off'] === true
  const ask = (admin: AdminClient) => admin.post<SwitchOutcome>(path, { reason, ...(off ? { off } : {}) })
  const { told, failed } = await askAll(adminsFromInvocation(invocation), ask, io)
  const rows = told.map(({ admin, value }) => ({ admin, ...value }))
  if (!printData(io, format, rows)) {
    for (const { admin, on, changed } of rows)
      io.out(format === 'name' ? admin : `${admin} ${words[on ? 1 : 0]}${changed ? '' : ' already'}`)
  }
  return failed ? 1 : 0
}
