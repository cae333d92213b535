import type { Call } from '../../../plugins/call.ts'
import type { ContextModes } from '../../../plugins/execution-context-facts.ts'
import type { Acting } from '../../../plugins/layer.ts'
import { pass } from '../../../plugins/verdict.ts'
import type { CallFold } from '../call-fold.ts'
import type { Half } from './half.ts'

/**
 * What the gateway halves of these layers have said, for those that were asked here; they are held against the runner's from now on. One
 * that never decides anything lets everything pass.
 */
export function halvesOf(fold: CallFold, modes: ContextModes, acting: ReadonlyMap<string, Acting>): readonly Half[] {
  const found: Half[] = []
  for (const name in modes) {
    const half = fold.halves.get(name) ?? silentHalf(name, fold, acting)
    if (!half) continue
    fold.holds(name)
    found.push(half)
  }
  return found
}

function silentHalf(name: string, fold: CallFold, acting: ReadonlyMap<string, Acting>): Half | undefined {
  const call: Call | undefined = fold.seen.get(name)
  const here = fold.decided.has(name) || fold.observed.has(name)
  if (!call || !here || acting.get(name)?.decide) return undefined
  return { name, verdict: pass(), call, counts: false }
}

/** Halves of layers that move, and that nothing was held against by the end of the call. */
export function leftHalves(fold: CallFold): readonly Half[] {
  return [...fold.halves.values()].filter(({ name }) => {
    const stage = fold.stages.get(name)
    return (stage === 'shadow' || stage === 'canary') && !fold.compared.has(name)
  })
}
