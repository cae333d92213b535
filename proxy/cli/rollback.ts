import { gatewayError } from '../../plugins/errors.ts'
import type { StageOutcome } from '../admin/stage-view.ts'
import { adminsFromInvocation } from './admin-client.ts'
import { formatFromInvocation, plainText, printData } from './output.ts'
import { askAll } from './replicas.ts'
import { reasonFromInvocation, sayOutcomes, stageOptions } from './stage-asking.ts'
import type { Invocation, Verb } from './verb.ts'

/** `foldgate rollback LAYER|--all`: back to the gateway, confirmed by every replica. */
export const rollback: Verb = {
  name: 'rollback',
  summary: 'bring a layer, or all of them, back to the gateway; exit code 3 when a replica did not confirm',
  usage: 'LAYER|--all --reason TEXT [--kubernetes] [--admin URL]… [-o FORMAT]',
  example: 'foldgate rollback --all --reason "incident 7" --admin http://10.0.0.4:9901 --admin http://10.0.0.5:9901',
  options: {
    all: { type: 'boolean', help: 'every layer' },
    kubernetes: {
      type: 'boolean',
      help: 'with --all: undo the runner’s Deployment as well; the first admin port is asked',
    },
    ...stageOptions,
  },
  takes: [0, 1],
  async run(invocation) {
    const { io } = invocation
    const layer = layerFrom(invocation)
    const [format, reason] = [formatFromInvocation(invocation), reasonFromInvocation(invocation)]
    const path = layer === undefined ? '/-/rollback' : `/-/layers/${encodeURIComponent(layer)}/rollback`
    const admins = adminsFromInvocation(invocation)
    // One of them undoes it: two would be in each other's way.
    const cluster = invocation.values['kubernetes'] === true ? admins[0] : undefined
    const { told, missed } = await askAll(
      admins,
      (admin) => admin.post<StageOutcome>(path, { reason, ...(admin === cluster ? { kubernetes: true } : {}) }),
      io,
    )
    const out = told.filter(({ value }) => !isBack(value, layer))
    const confirmed = told.length - out.length
    const rows = [
      ...told.map((each) => ({ admin: each.admin, confirmed: !out.includes(each), ...each.value })),
      ...missed.map(({ admin, why }) => ({ admin, confirmed: false, why })),
    ]
    const line = `confirmed ${confirmed}/${admins.length}`
    if (printData(io, format, rows)) io.say(line)
    else {
      sayOutcomes(told, { io, format })
      io.out(line)
    }
    for (const { admin } of [...out, ...missed]) io.say(plainText(`not confirmed: ${admin}`))
    const undone = cluster && told.find(({ admin }) => admin === cluster.url)?.value.kubernetes
    if (cluster) io.say(plainText(undone?.words ?? `whether the Deployment was undone is not known: ${cluster.url}`))
    return confirmed === admins.length && (!cluster || undone?.done === true) ? 0 : 3
  },
}

function layerFrom({ values, positionals: [layer] }: Invocation): string | undefined {
  const all = values['all'] === true
  if (all === (layer !== undefined)) throw gatewayError('usage', 'name one layer, or say --all')
  if (values['kubernetes'] === true && !all) throw gatewayError('usage', '--kubernetes goes with --all')
  return layer
}

/** Whether what was to come back decides in the gateway again, by the replica's own word. */
function isBack({ layers }: StageOutcome, layer: string | undefined): boolean {
  return layers
    .filter(({ name, on }) => on && (layer === undefined || name === layer))
    .every(({ stage }) => stage === 'gateway' || stage === 'rolled-back')
}
