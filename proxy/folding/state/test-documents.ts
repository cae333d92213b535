import type { Log } from '../../../plugins/host.ts'
import type { Stage } from '../../../plugins/stage.ts'
import type { LayerState, Layers, StageDocument } from './document.ts'
import type { RolloutState, Transition, TransitionResult } from './state.ts'

export const tiers = ['internal', 'free', 'vip']
export const by = { actor: 'test', reason: 'because' }
export const silent: Log = { info() {}, warn() {}, error() {} }

/** A log that keeps what it is told. */
export function recordingLog() {
  const lines: string[] = []
  const write = (fields: object, message: string) => void lines.push(`${message} ${JSON.stringify(fields)}`)
  return { lines, info: write, warn: write, error: write }
}

/** A layer by rollout `id` in a stage; a canary has `weight` in every tier. */
export function layerAt(stage: Stage, id: string, more: Partial<LayerState> & { weight?: number } = {}): LayerState {
  const { weight = 100, ...rest } = more
  return {
    stage,
    weights: stage === 'canary' ? Object.fromEntries(tiers.map((tier) => [tier, weight])) : {},
    rolloutId: id,
    gen: 1,
    salt: `salt of ${id}`,
    cfgHash: 'c0ffee',
    artifactDigest: 'd1gest',
    startedAt: 0,
    held: false,
    reason: 'because',
    actor: 'test',
    ...rest,
  }
}

/** Moves one layer, on top of what is known, with the fence that is held. */
export async function move(
  state: RolloutState,
  layers: Layers,
  more: Partial<Transition> = {},
): Promise<TransitionResult> {
  const { rev, layers: before } = state.known
  return state.transition({
    expectedRev: rev,
    fence: state.lead()?.fence ?? -1,
    layers: { ...before, ...layers },
    by,
    ...more,
  })
}

/** The largest share of any tier in a document, by rollout. */
export function shares({ layers }: StageDocument): Record<string, number> {
  const all = Object.values(layers).map(({ rolloutId, stage, weights }): [string, number] => [
    rolloutId,
    stage === 'native' ? 10_000 : Math.max(0, ...Object.values(weights)),
  ])
  return Object.fromEntries(all)
}
