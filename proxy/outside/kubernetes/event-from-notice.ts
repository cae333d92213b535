import type { NoticeKind } from '../../../config/outside.ts'
import { type Notice, sayNotice } from '../notify/notice.ts'
import type { EventReason, KubeEvent } from './events.ts'
import type { UndoOutcome } from './undo.ts'

const reasons: Readonly<Record<NoticeKind, readonly [EventReason, string]>> = {
  moved: ['LayerMoved', 'Move'],
  held: ['LayerHeld', 'Hold'],
  'witness-disagrees': ['WitnessDisagrees', 'Hold'],
  'rolled-back': ['LayerRolledBack', 'Rollback'],
  'rollback-failed': ['RollbackFailed', 'Rollback'],
  panic: ['PanicFile', 'Rollback'],
}

/** A notice as a Kubernetes Event. */
export function eventFromNotice(notice: Notice): KubeEvent {
  const said = sayNotice(notice)
  const [reason, action] = reasons[notice.kind]
  const note = [said.title, said.text, notice.evidence].filter(Boolean).join('; ')
  return { type: notice.kind === 'moved' ? 'Normal' : 'Warning', reason, action, note }
}

/** What came of undoing the Deployment, as a Kubernetes Event. */
export function eventFromUndo(outcome: UndoOutcome): KubeEvent {
  const undone = outcome.done && !outcome.dryRun
  return {
    type: 'Warning',
    reason: undone ? 'DeploymentUndone' : 'RollbackSkipped',
    action: 'Rollback',
    note: outcome.words,
  }
}
