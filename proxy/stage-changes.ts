import { gatewayError } from '../plugins/errors.ts'
import { type LayerStage, sayStage } from '../plugins/stage.ts'
import type { LayerView } from './admin/layer-view.ts'
import type { ChangedBy, Operations } from './admin/operations.ts'
import type { ChangeView, StageOutcome, StageVerb } from './admin/stage-view.ts'
import type { StageChange, Stages } from './folding/stages.ts'
import { layerProblems, noWayOut } from './layer-views.ts'
import type { Setup } from './setup.ts'

/** What stage changes are made with. */
export interface StageChangesParts {
  readonly setup: () => Setup
  readonly stages: Stages
  /** Every layer as it stands now. */
  readonly views: () => readonly LayerView[]
}

/** How many holds and releases are remembered. */
const mostHolds = 1_000

/** The part of the operations that moves layers. Who held a layer, and who let it go, is remembered here: its stage stays the same. */
export function createStageChanges(
  parts: StageChangesParts,
): Pick<Operations, 'changeStage' | 'rollbackAll' | 'history'> {
  const { stages, setup } = parts
  const holds: ChangeView[] = []
  const outcome = (verb: StageVerb, changes: readonly ChangeView[]): StageOutcome => {
    const layers = parts.views()
    return { verb, version: stages.version, changes, warnings: layerProblems(layers, setup()), layers }
  }
  return {
    changeStage(verb, layer, by) {
      requireWay(verb, layer, setup())
      const held = stages.isHeld(layer)
      const moved = stages.ask(verb, layer, namedBy(by)).map(viewFromChange)
      if (verb !== 'hold' && verb !== 'resume') return { ...outcome(verb, moved), layer }
      if (held === stages.isHeld(layer)) return { ...outcome(verb, []), layer }
      const [from, to] = [saidOf(stages.of(layer), held), saidOf(stages.of(layer), !held)]
      const change = { at: setup().host.clock.now(), layer, from, to, ...namedBy(by) }
      holds.push(change)
      holds.splice(0, holds.length - mostHolds)
      return { ...outcome(verb, [change]), layer }
    },
    rollbackAll: (by) => outcome('rollback', stages.rollbackAll(namedBy(by)).map(viewFromChange)),
    history: (limit) =>
      [...stages.history().map(viewFromChange), ...holds].toSorted((a, b) => a.at - b.at).slice(-limit),
  }
}

/** What could not take effect on any call is refused: an operator would believe that it had. */
function requireWay(verb: StageVerb, layer: string, setup: Setup): void {
  if (!setup.acting.has(layer) || !['shadow', 'canary', 'promote'].includes(verb)) return
  const why = noWayOut(setup)
  if (why) throw gatewayError('stage_refused', `${layer} cannot move: ${why}`)
}

function namedBy({ actor, reason }: ChangedBy): { actor: string; reason: string } {
  return { actor: actor.name, reason }
}

function saidOf(stage: LayerStage, held: boolean): string {
  return held ? `${sayStage(stage)}, held` : sayStage(stage)
}

function viewFromChange({ at, layer, from, to, actor, reason }: StageChange): ChangeView {
  return { at, layer, from: sayStage(from), to: sayStage(to), actor, reason }
}
