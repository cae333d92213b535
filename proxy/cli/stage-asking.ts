import { gatewayError } from '../../plugins/errors.ts'
import type { StageOutcome } from '../admin/stage-view.ts'
import { adminOptions } from './admin-client.ts'
import { type Format, outputOption, plainText, tableFromRows } from './output.ts'
import type { Told } from './replicas.ts'
import { type Invocation, type Io, type Option, textOption } from './verb.ts'

/** The options of every verb that moves layers. */
export const stageOptions: Readonly<Record<string, Option>> = {
  reason: { type: 'string', help: 'why; needed, and recorded with who asked' },
  ...adminOptions,
  ...outputOption,
}

/** Why somebody asks for a change. Throws `usage` when nothing is said. */
export function reasonFromInvocation(invocation: Invocation): string {
  const reason = textOption(invocation, 'reason')?.trim()
  if (reason) return reason
  throw gatewayError('usage', '--reason TEXT is missing: a change of stages is recorded with why and by whom')
}

/** Shows a table of what each replica changed; on stderr what is wrong now, and which replica had nothing to change. */
export function sayOutcomes(
  told: readonly Told<StageOutcome>[],
  { io, format }: { readonly io: Io; readonly format: Format },
): void {
  const rows = told.flatMap(({ admin, value }) =>
    value.changes.map(({ layer, from, to }) => [admin, layer, from, to] as const),
  )
  if (format === 'name') for (const { admin } of told) io.out(admin)
  else if (rows.length > 0) io.out(tableFromRows(['ADMIN', 'LAYER', 'FROM', 'TO'], rows, io.color))
  for (const { admin, value } of told) {
    if (value.changes.length === 0) io.say(plainText(`${admin}: nothing had to change${standing(value)}`))
    for (const warning of value.warnings) io.say(plainText(`${admin}: warning: ${warning}`))
  }
}

function standing({ layer, layers }: StageOutcome): string {
  const found = layers.find(({ name }) => name === layer)
  return found ? `: ${found.name} is ${found.stage}${found.held ? ', held' : ''}` : ''
}
