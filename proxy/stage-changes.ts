import { gatewayError } from '../plugins/errors.ts'
import { type LayerStage, sayStage } from '../plugins/stage.ts'
import type { LayerView } from './admin/layer-view.ts'
import type { ChangedBy, Operations, SwitchesView } from './admin/operations.ts'
import type { ChangeView, StageOutcome } from './admin/stage-view.ts'
import type { StageVerb } from './folding/stage-plan.ts'
import type { Changed, PastChange, Stages } from './folding/stages.ts'
import { switchedOn, switchNames, turnSwitch } from './folding/state/switches.ts'
import { layerProblems, noWayOut } from './layer-views.ts'
import type { Outside } from './outside/outside.ts'
import type { Setup } from './setup.ts'

/** What stage changes are made with. */
export interface StageChangesParts {
  readonly setup: () => Setup
  readonly stages: Stages
  /** Every layer as it stands now. */
  readonly views: () => readonly LayerView[]
  /** Undoes the runner's Deployment, where that is on. */
  readonly undo: Outside['undo']
}

/** The part of the operations that moves layers. */
export function createStageChanges(
  parts: StageChangesParts,
): Pick<Operations, 'changeStage' | 'rollbackAll' | 'history' | 'switches' | 'turnSwitch'> {
  const { stages, setup } = parts
  const outcome = (verb: StageVerb, { changes, confirmed }: Changed): StageOutcome => {
    const layers = parts.views()
    const said = changes.map(viewFromChange)
    const told = confirmed ? { confirmed } : {}
    return { verb, version: stages.version, changes: said, warnings: layerProblems(layers, setup()), layers, ...told }
  }
  return {
    async changeStage(verb, layer, by) {
      requireWay(verb, layer, setup())
      return { ...outcome(verb, await stages.ask(verb, layer, namedBy(by))), layer }
    },
    async rollbackAll(by, { kubernetes }) {
      // Layers first: nothing in the cluster may keep them waiting, and the outcome tells of them as they are then.
      const changed = await stages.rollbackAll(namedBy(by))
      const undone = kubernetes ? { kubernetes: await parts.undo(namedBy(by)) } : {}
      return { ...outcome('rollback', changed), ...undone }
    },
    switches: () => switchesOf(stages),
    async turnSwitch(name, on, by) {
      const now = setup().host.clock.now()
      const changed = await turnSwitch(stages.state, { name, on, by: namedBy(by), now })
      return { name, on, changed, switches: switchesOf(stages) }
    },
    history: async (limit) => (await stages.history(limit)).map(viewFromChange),
  }
}

/** What people have switched, as this replica knows it. */
export function switchesOf({ state }: Pick<Stages, 'state'>): SwitchesView {
  const on = switchNames.flatMap((name) => {
    const switched = switchedOn(state.known, name)
    return switched ? [[name, switched] as const] : []
  })
  return Object.fromEntries(on)
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

function viewFromChange({ at, layer, from, to, actor, reason }: PastChange): ChangeView {
  return { at, layer, from: said(from), to: said(to), actor, reason }
}

function said(stage: LayerStage | string): string {
  if (typeof stage === 'string') return stage
  return stage.held ? `${sayStage(stage)}, held` : sayStage(stage)
}
