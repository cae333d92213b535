import type { NoticeKind } from '../../../config/outside.ts'
import { type Notice, sayNotice, severities } from './notice.ts'
import { jsonMessage, type Shape, type ShapeContext } from './shape.ts'

type Problem = Exclude<NoticeKind, 'moved'>

/** The alert's name by kind. */
const names: Readonly<Record<Problem, string>> = {
  held: 'FoldgateLayerHeld',
  'witness-disagrees': 'FoldgateWitnessDisagrees',
  'rolled-back': 'FoldgateLayerRolledBack',
  'rollback-failed': 'FoldgateRollbackFailed',
  panic: 'FoldgatePanic',
}

/** An alert burns this long when nothing resolves it: it is said once, and Alertmanager would let it go after five minutes. */
const burnsMs = 4 * 3_600_000

/**
 * Alertmanager API v2, `POST /api/v2/alerts`: an alert is its labels, so none of them changes between its start and its end. A
 * layer's move forward ends every alert that it may have.
 */
export const alertmanagerShape: Shape = (notice, context) => {
  const headers: Record<string, string> =
    context.secret.length === 0 ? {} : { authorization: `Bearer ${context.secret.toString('utf8')}` }
  const kinds = Object.keys(names) as readonly Problem[]
  if (notice.kind !== 'moved') return jsonMessage([alert(notice.kind, notice, context)], headers)
  return jsonMessage(
    kinds.map((kind) => alert(kind, notice, context)),
    headers,
  )
}

function alert(kind: Problem, notice: Notice, { service, runbook }: ShapeContext): Record<string, unknown> {
  const said = sayNotice(notice)
  const over = notice.kind === 'moved'
  return {
    labels: { alertname: names[kind], severity: severities[kind], layer: notice.layer, service, source: 'foldgate' },
    annotations: {
      summary: said.title,
      description: [said.text, notice.evidence, said.todo].filter(Boolean).join('\n'),
      ...(runbook === null ? {} : { runbook_url: runbook }),
    },
    startsAt: new Date(notice.at).toISOString(),
    endsAt: new Date(notice.at + (over ? 0 : burnsMs)).toISOString(),
  }
}
