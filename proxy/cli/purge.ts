import { gatewayError } from '../../plugins/errors.ts'
import type { PurgeOutcome } from '../admin/operations.ts'
import { adminsFromInvocation } from './admin-client.ts'
import { formatFromInvocation, printData } from './output.ts'
import { askAll } from './replicas.ts'
import { reasonFromInvocation, stageOptions } from './stage-asking.ts'
import { textOption, type Verb } from './verb.ts'

/** `foldgate purge`: stored answers are forgotten. */
export const purge: Verb = {
  name: 'purge',
  summary: 'forget stored answers: of a tenant, a route, a prompt version, or all; curated answers stay',
  usage: '[--tenant NAME] [--route ROUTE] [--prompt-version V] [--all] --reason TEXT [--admin URL]… [-o FORMAT]',
  example:
    'foldgate purge --tenant acme --reason "wrong price list, OPS-31"\nfoldgate purge --all --reason "model changed"',
  options: {
    tenant: { type: 'string', help: 'answers to this tenant only' },
    route: { type: 'string', help: 'answers on this route only: chat, messages, completions, embeddings' },
    'prompt-version': { type: 'string', help: 'answers under this prompt version only' },
    all: { type: 'boolean', help: 'everything; needed where nothing else is given' },
    ...stageOptions,
  },
  async run(invocation) {
    const { io, values } = invocation
    const [format, reason] = [formatFromInvocation(invocation), reasonFromInvocation(invocation)]
    const [tenant, route] = [textOption(invocation, 'tenant'), textOption(invocation, 'route')]
    const promptVersion = textOption(invocation, 'prompt-version')
    const scope = {
      ...(tenant === undefined ? {} : { tenant }),
      ...(route === undefined ? {} : { route }),
      ...(promptVersion === undefined ? {} : { promptVersion }),
    }
    if (Object.keys(scope).length === 0 && values['all'] !== true)
      throw gatewayError('usage', 'say what to purge: --tenant, --route, --prompt-version, or --all')
    const asked = { reason, ...scope, ...(values['all'] === true ? { all: true } : {}) }
    const admins = adminsFromInvocation(invocation)
    const { told, failed } = await askAll(admins, (admin) => admin.post<PurgeOutcome>('/-/cache/purge', asked), io)
    const rows = told.map(({ admin, value }) => ({ admin, ...value }))
    if (!printData(io, format, rows)) {
      for (const { admin, purged, replicas, atRunner } of rows) {
        const where = `${replicas === 'all' ? 'all replicas' : 'this replica'}${atRunner ? ', and the runner with its next call' : ''}`
        io.out(format === 'name' ? admin : `${admin} purged, ${purged} counted, on ${where}`)
      }
    }
    return failed ? 1 : 0
  },
}
