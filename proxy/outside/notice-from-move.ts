import { sayStage } from '../../plugins/stage.ts'
import type { Decision } from '../folding/rollout/decision.ts'
import type { StageChange } from '../folding/stages.ts'
import { isOut } from '../folding/state/document.ts'
import type { Notice } from './notify/notice.ts'
import { disagreement } from './traces/second-witness.ts'

/** A layer's move as something to be told of. `decision` is the last one over it, where there was one. */
export function noticeFromMove(change: StageChange, decision: Decision | undefined): Notice {
  const { at, layer, from, to, actor, reason } = change
  return {
    ...{ kind: kindOf(change), at, layer, from: sayStage(from), to: sayStage(to), actor, reason },
    evidence: decision && actor === 'foldgate' ? evidenceLine(decision) : '',
  }
}

function kindOf({ from, to, reason }: StageChange): Notice['kind'] {
  if (to.stage === 'rolled-back' || (to.stage === 'gateway' && isOut(from))) return 'rolled-back'
  if (to.held !== true || from.held === true) return 'moved'
  return reason.startsWith(disagreement) ? 'witness-disagrees' : 'held'
}

/** What of gates is told: enough to see what was weighed, and short enough for a line. */
const mostGates = 8

/** The figures behind a decision in one line: gates that are open first, each with what it is and what it must be. */
export function evidenceLine({ gates }: Pick<Decision, 'gates'>): string {
  const open = gates.filter(({ met }) => !met)
  const shown = [...open, ...gates.filter(({ met }) => met)].slice(0, mostGates)
  return shown
    .map(({ name, value, threshold, at }) => `${name} ${figure(value)} (at ${at} ${figure(threshold)})`)
    .join(', ')
}

/** A number as people read it: four digits that count. */
function figure(value: number): string {
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4)))
}
