import type { LayerRecord } from '../call-record.ts'
import type { LayerState } from '../layer-status.ts'
import type { CallFold } from './call-fold.ts'

/** What of a call tells where its layers ran. */
export interface StatesFrom {
  readonly names: readonly string[]
  /** Layers that were asked here, in whatever mode. */
  readonly layers: readonly LayerRecord[]
  /** Layers that held the whole answer back here. */
  readonly buffered: readonly string[]
  readonly fold: CallFold
}

/** Where every layer ran in a call that is split with the runner: for the runner by its acknowledgement only, never by the plan. */
export function statesFromFold({ names, layers, buffered, fold }: StatesFrom): readonly LayerState[] {
  const here = new Set(layers.map(({ name }) => name).filter((name) => fold.decided.has(name)))
  return names.map((name) => {
    const state = stateOf(name, here.has(name), fold)
    return buffered.includes(name) && state.by === 'gateway' ? { ...state, buffered: true } : state
  })
}

function stateOf(name: string, here: boolean, fold: CallFold): LayerState {
  const reason = fold.fallbacks.get(name)
  if (reason) return { name, status: 'fallback', by: here ? 'gateway' : 'none', buffered: false, reason }
  const stage = fold.stages.get(name)
  if (fold.modes.get(name) === 'enforce') return atRunner(name, stage === 'canary', fold)
  if (!here) return { name, status: 'evaporation-bypassed', by: 'none', buffered: false }
  const moving = stage === 'shadow' || stage === 'canary'
  return { name, status: moving ? 'evaporation-started' : 'active', by: 'gateway', buffered: false }
}

function atRunner(name: string, proving: boolean, { said }: CallFold): LayerState {
  const outcome = said?.acknowledgement.layers[name]?.o
  if (!said || outcome === undefined) return { name, status: 'evaporation-bypassed', by: 'none', buffered: false }
  return {
    name,
    status: proving ? 'evaporation-accelerating' : 'evaporation-complete',
    by: 'runner',
    buffered: false,
    ...(outcome === 'armed' ? { armed: true } : {}),
    ...(outcome === 'failed' ? { failed: true } : {}),
    ...(said.beside ? { beside: true } : {}),
    ...(said.soft.includes(name) ? { checked: true } : {}),
  }
}
