import { bypassed, marks, stateCode } from '../layer-status.ts'
import type { CallFold } from './call-fold.ts'

/**
 * Where a layer ran in a call that is split with the runner, as a number of `stateCode`: for the runner by its acknowledgement only, never by
 * the plan. `asked`: it was asked here, in whatever mode; `buffered`: it held the whole answer back here.
 */
export function stateFromFold(name: string, fold: CallFold, { asked, buffered }: Here): number {
  const here = asked && fold.decided.has(name)
  const kept = here && buffered ? marks.buffered : 0
  const reason = fold.fallbacks.get(name)
  if (reason) return stateCode('fallback', here ? 'gateway' : 'none', kept, reason)
  const stage = fold.stages.get(name)
  if (fold.modes.get(name) === 'enforce') return atRunner(name, stage === 'canary', fold)
  if (!here) return bypassed
  return stateCode(stage === 'shadow' || stage === 'canary' ? 'evaporation-started' : 'active', 'gateway', kept)
}

/** What the gateway half of a layer did. */
export interface Here {
  readonly asked: boolean
  readonly buffered: boolean
}

function atRunner(name: string, proving: boolean, { said }: CallFold): number {
  const outcome = said?.acknowledgement.layers[name]?.o
  if (!said || outcome === undefined) return bypassed
  let marked = 0
  if (outcome === 'armed') marked |= marks.armed
  if (outcome === 'failed') marked |= marks.failed
  if (said.beside) marked |= marks.beside
  if (said.soft.includes(name)) marked |= marks.checked
  return stateCode(proving ? 'evaporation-accelerating' : 'evaporation-complete', 'runner', marked)
}
