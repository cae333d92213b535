import type { EvidenceView } from '../admin/operations.ts'
import { adminOptions, adminsFromInvocation } from './admin-client.ts'
import { linesFromEvidence } from './evidence-lines.ts'
import { formatFromInvocation, outputOption, printData } from './output.ts'
import { askAll } from './replicas.ts'
import type { Verb } from './verb.ts'

/** `foldgate evidence [LAYER]`: what the layers that move are judged by, on every replica. */
export const evidence: Verb = {
  name: 'evidence',
  summary:
    'show what the layers in shadow or canary are judged by: share, gates, fuses, decision; -o json can be replayed',
  usage: '[LAYER] [--admin URL]… [-o FORMAT]',
  example: 'foldgate evidence postprocess',
  options: { ...adminOptions, ...outputOption },
  takes: [0, 1],
  async run(invocation) {
    const { io } = invocation
    const format = formatFromInvocation(invocation)
    const [layer] = invocation.positionals
    const admins = adminsFromInvocation(invocation)
    const path = `/-/evidence${layer === undefined ? '' : `?layer=${encodeURIComponent(layer)}`}`
    const { told, failed } = await askAll(admins, (admin) => admin.get<EvidenceView>(path), io)
    const views = told.map(({ admin, value }) => ({ admin, ...value }))
    if (printData(io, format, admins.length === 1 ? views[0] : views)) return failed ? 1 : 0
    for (const { admin, ...view } of views) {
      if (admins.length > 1) io.out(`${admin}:`)
      io.out(format === 'name' ? Object.keys(view.layers).join('\n') : linesFromEvidence(view, io.color))
    }
    return failed ? 1 : 0
  },
}
