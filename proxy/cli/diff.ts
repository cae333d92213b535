import type { LegacyReport } from '../folding/diff/legacy-agreement.ts'
import { textFromLegacyReport } from '../folding/diff/legacy-text.ts'
import type { ShadowView } from '../folding/shadow/shadow.ts'
import { adminOptions, adminsFromInvocation } from './admin-client.ts'
import { linesFromDiffs } from './diff-lines.ts'
import { formatFromInvocation, outputOption, printData } from './output.ts'
import { askAll } from './replicas.ts'
import type { Invocation, Verb } from './verb.ts'

/** `foldgate diff [LAYER]`: in what the two halves of layers differ, on every replica. */
export const diff: Verb = {
  name: 'diff',
  summary: 'show in what the two halves of layers differ, by form of difference, and how much was compared',
  usage: '[LAYER] [--legacy] [--admin URL]… [-o FORMAT]',
  example: 'foldgate diff prompt -o wide\nfoldgate diff --legacy',
  options: {
    legacy: { type: 'boolean', help: 'how far every layer agrees with the existing chain that serves' },
    ...adminOptions,
    ...outputOption,
  },
  takes: [0, 1],
  run: (invocation) => (invocation.values['legacy'] === true ? showLegacy(invocation) : showDiffs(invocation)),
}

async function showDiffs(invocation: Invocation): Promise<number> {
  const { io } = invocation
  const format = formatFromInvocation(invocation)
  const [layer] = invocation.positionals
  const admins = adminsFromInvocation(invocation)
  const path = `/-/diffs${layer === undefined ? '' : `?layer=${encodeURIComponent(layer)}`}`
  const { told, failed } = await askAll(admins, (admin) => admin.get<ShadowView>(path), io)
  const views = told.map(({ admin, value }) => ({ admin, ...value }))
  if (printData(io, format, admins.length === 1 ? views[0] : views)) return failed ? 1 : 0
  for (const { admin, ...view } of views) {
    if (admins.length > 1) io.out(`${admin}:`)
    if (format === 'name')
      for (const page of Object.values(view.layers)) io.out(page.signatures.map((each) => each.signature).join('\n'))
    else io.out(linesFromDiffs(view, { wide: format === 'wide', color: io.color }))
  }
  return failed ? 1 : 0
}

async function showLegacy(invocation: Invocation): Promise<number> {
  const { io } = invocation
  const format = formatFromInvocation(invocation)
  const admins = adminsFromInvocation(invocation)
  const { told, failed } = await askAll(admins, (admin) => admin.get<LegacyReport>('/-/diffs?legacy'), io)
  if (printData(io, format, admins.length === 1 ? told[0]?.value : told)) return failed ? 1 : 0
  for (const { admin, value } of told) {
    if (admins.length > 1) io.out(`${admin}:`)
    io.out(textFromLegacyReport(value).trimEnd())
  }
  return failed ? 1 : 0
}
