import type { Clock } from '../plugins/host.ts'
import { layers } from '../plugins/index.ts'
import type { Operations } from './admin/operations.ts'
import type { OpenedState } from './folding/open-stages.ts'
import type { Controller } from './folding/rollout/controller.ts'
import type { Stages } from './folding/stages.ts'
import { analysisFrom } from './outside/hooks/analysis.ts'
import { answerFlagger } from './outside/hooks/flagger.ts'
import type { RolloutsView } from './outside/hooks/rollout-view.ts'
import { rolloutsFrom } from './outside/hooks/rollouts.ts'
import type { Setup } from './setup.ts'

/** What the rollouts are looked at with. */
export interface RolloutOperationsParts {
  readonly setup: () => Setup
  readonly stages: Stages
  readonly controller: Pick<Controller, 'decisionOn'>
  readonly opened: OpenedState
  readonly clock: Clock
}

/** The operations that tools outside, and other replicas, ask for. */
export type RolloutOperations = Pick<Operations, 'analysis' | 'flagger' | 'evidence' | 'receivePeer'>

/** Makes the {@link RolloutOperations}. */
export function createRolloutOperations(parts: RolloutOperationsParts): RolloutOperations {
  const { stages, setup, controller, opened, clock } = parts
  const names = (): readonly string[] => layers.map(({ name }) => name).filter((name) => setup().acting.has(name))
  const rollouts = (): RolloutsView =>
    rolloutsFrom({
      layers: names(),
      now: clock.now(),
      stageOf: stages.of,
      stateOf: stages.stateOf,
      known: stages.state.known,
      decisionOn: controller.decisionOn,
    })
  return {
    analysis(name, withinMs) {
      const { now, layers: views } = rollouts()
      const view = views.find(({ layer }) => layer === name)
      if (!view) return undefined
      const back = view.rolledBackAt !== null && now - view.rolledBackAt <= withinMs
      return analysisFrom(back ? { ...view, verdict: 'fail' } : view)
    },
    flagger: (hook, payload) => answerFlagger(hook, payload, rollouts()),
    evidence() {
      const records = names().flatMap((name) => {
        const record = controller.decisionOn(name)
        return record ? [[name, record] as const] : []
      })
      return { layers: Object.fromEntries(records) }
    },
    receivePeer: (body) => opened.receive?.(body),
  }
}
