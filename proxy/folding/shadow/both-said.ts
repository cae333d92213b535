import type { Acknowledgement } from '../../../plugins/acknowledgement.ts'
import { bodyDigest, type ExecutionContext } from '../../../plugins/execution-context.ts'
import type { Layer } from '../../../plugins/layer.ts'
import { withCaller } from '../acknowledged-caller.ts'
import type { Boundary } from '../diff/boundary.ts'
import type { Comparison, SkipReason } from '../diff/comparison.ts'
import type { Half } from './half.ts'

/** What is known of a call whose halves are held against each other. */
export interface AboutCall {
  /** A cache has answered it. */
  readonly cacheHit: boolean
  /** The rollout under way for it. */
  readonly rollout: string | undefined
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** Both halves of the layers of one call have spoken. */
export interface BothSaid extends AboutCall {
  readonly halves: readonly Half[]
  readonly acknowledgement: Acknowledgement
  readonly context: Pick<ExecutionContext, 'modes' | 'reads' | 'bod'>
}

/** Largest body whose layers are compared: beyond it a single digest would take as long as a call. Bytes. */
const mostBytes = 1_048_576

/**
 * Holds the two halves of one layer against each other. Undefined where the runner's half was never asked, since a layer further out had
 * answered or refused. Where the two judged by counters of their own, a difference says nothing of the rule and is left out.
 */
export function compareHalf(half: Half, layer: Layer, said: BothSaid, boundary: Boundary): Comparison | undefined {
  const { acknowledgement, context, cacheHit, at } = said
  const member = acknowledgement.layers[half.name]
  if (!member && wasStopped(half.name, said)) return undefined
  const call = withCaller(half.call, acknowledgement)
  const pair = { layer, call, verdict: half.verdict, said: member, cacheHit, at }
  if (half.call.body.length > mostBytes) return boundary.skip(pair, 'too_large')
  const found = boundary.compare(pair)
  if (found.verdict !== 'differs' || found.f1) return found
  const apart = half.counts && (context.modes[half.name] === 'enforce' || !context.reads?.[half.name])
  if (apart) return boundary.skip(pair, ownReason(half.name))
  // The gateway asks for usage, or puts in the model that it chose: the two have then read different requests.
  const rewritten =
    found.differences.every(({ kind }) => kind === 'digest') && bodyDigest(half.call.body) !== context.bod
  return rewritten ? boundary.skip(pair, 'rewritten') : found
}

function ownReason(layer: string): SkipReason {
  return layer === 'rate-limit' ? 'at-limit' : 'own-state'
}

/** A layer further out has ended the call at the runner. */
function wasStopped(name: string, { acknowledgement, context }: BothSaid): boolean {
  for (const [outer, mode] of Object.entries(context.modes)) {
    if (outer === name) return false
    const o = acknowledgement.layers[outer]?.o
    if (mode === 'enforce' && (o === 'answer' || o === 'refuse')) return true
  }
  return false
}
