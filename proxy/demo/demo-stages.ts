import { gatewayError } from '../../plugins/errors.ts'
import { sayStage } from '../../plugins/stage.ts'
import type { EvidenceView } from '../admin/operations.ts'
import { type StageConstants, stageConstants } from '../folding/rollout/stage-constants.ts'
import { canaryStep } from '../folding/rollout/stage-start.ts'
import type { Gateway } from '../gateway.ts'
import { demoLayer, demoShares, hurried } from './demo-house.ts'

/** Moves the layer of the demonstration as a person does, over the admin port, and says where it is. */
export interface StageClient {
  /** Such as `canary 10 %`. */
  now(): string
  /** Why it was moved last. */
  reason(): string
  /** What it waits for, as the last decision says. */
  waitsFor(): Promise<string>
  ask(verb: string): Promise<void>
  /** Into the canary of this share, from wherever it is, by hand. */
  to(share: number): Promise<void>
  /** What it is held against at a share. */
  constantsAt(share: number): StageConstants
}

/** Makes a {@link StageClient}. */
export function createStageClient({ setup, stages, adminUrl }: Gateway, scale: number): StageClient {
  const now = (): string => sayStage(setup().folding.stageOf(demoLayer))
  const post = async (path: string): Promise<void> => {
    const body = JSON.stringify({ reason: 'demonstration' })
    const answer = await fetch(`${adminUrl}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    if (!answer.ok) throw gatewayError('internal', `${path}: ${answer.status} ${await answer.text()}`)
  }
  const ask = (verb: string): Promise<void> => post(`/-/layers/${demoLayer}/${verb}`)
  return {
    now,
    reason: () => stages.stateOf(demoLayer).reason,
    async waitsFor() {
      const answer = await fetch(`${adminUrl}/-/evidence?layer=${demoLayer}`)
      const view = (await answer.json()) as EvidenceView
      return view.layers[demoLayer]?.decision.reason ?? 'nothing judged yet'
    },
    ask,
    async to(share) {
      if (now() === 'native' || now().startsWith('canary') || now() === 'shadow') await ask('rollback')
      await ask('shadow')
      for (const each of demoShares) {
        await ask('promote')
        if (each === share) return
      }
    },
    constantsAt(share) {
      const facts = { layer: demoLayer, unit: 'conversation', control: { n: 0, x: 0 } } as const
      return hurried(stageConstants(canaryStep(share, demoShares), facts), scale)
    },
  }
}
