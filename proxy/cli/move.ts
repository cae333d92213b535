import type { StageOutcome } from '../admin/stage-view.ts'
import type { StageVerb } from '../folding/stage-plan.ts'
import { adminsFromInvocation } from './admin-client.ts'
import { formatFromInvocation, printData } from './output.ts'
import { askAll } from './replicas.ts'
import { reasonFromInvocation, sayOutcomes, stageOptions } from './stage-asking.ts'
import type { Verb } from './verb.ts'

const examples: Readonly<Record<Exclude<StageVerb, 'rollback'>, string>> = {
  shadow: 'first look, OPS-12',
  canary: 'a week in shadow without a difference',
  promote: 'no difference at 10 %',
  hold: 'release freeze',
  resume: 'release is out',
}

/** `foldgate shadow|canary|promote|hold|resume LAYER`: moves one layer on every replica, or holds it where it is. */
export const moves: readonly Verb[] = [
  moveVerb('shadow', 'let the runner say what it would have decided; the gateway goes on deciding'),
  moveVerb('canary', 'let the runner decide for the first share of callers; from shadow only'),
  moveVerb('promote', 'take a layer one step further: shadow, each share of the canary, native'),
  moveVerb('hold', 'keep a layer from being moved further until it is resumed; a rollback still works'),
  moveVerb('resume', 'let a layer that is on hold move again'),
]

function moveVerb(name: Exclude<StageVerb, 'rollback'>, summary: string): Verb {
  return {
    name,
    summary,
    usage: 'LAYER --reason TEXT [--admin URL]… [-o FORMAT]',
    example: `foldgate ${name} postprocess --reason "${examples[name]}"`,
    options: stageOptions,
    takes: [1, 1],
    async run(invocation) {
      const { io } = invocation
      const [layer = ''] = invocation.positionals
      const [format, reason] = [formatFromInvocation(invocation), reasonFromInvocation(invocation)]
      const path = `/-/layers/${encodeURIComponent(layer)}/${name}`
      const admins = adminsFromInvocation(invocation)
      const { told, failed } = await askAll(admins, (admin) => admin.post<StageOutcome>(path, { reason }), io)
      const rows = told.map(({ admin, value }) => ({ admin, ...value }))
      if (!printData(io, format, rows)) sayOutcomes(told, { io, format })
      return failed ? 1 : 0
    },
  }
}
