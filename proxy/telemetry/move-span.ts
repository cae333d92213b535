import { sayStage } from '../../plugins/stage.ts'
import type { StageChange } from '../folding/stages.ts'
import type { Tracing } from './tracing.ts'

/**
 * Says in a trace of its own that a layer moved, so that a trace store shows it beside the calls of that time. Who asked for it and why
 * stands in the log: names and words of people are not exported.
 */
export function noteMove(tracing: Pick<Tracing, 'note'>, { layer, from, to, actor }: StageChange): void {
  tracing.note(`${to.stage === 'rolled-back' ? 'rollback' : 'move'} ${layer}`, {
    'foldgate.layer': layer,
    'foldgate.moved.from': sayStage(from),
    'foldgate.moved.to': sayStage(to),
    'foldgate.moved.by': actor === 'foldgate' ? 'foldgate' : 'operator',
    'foldgate.rollout': to.rollout ?? from.rollout,
  })
}
