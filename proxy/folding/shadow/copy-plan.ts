import type { Call } from '../../../plugins/call.ts'
import type { ContextModes } from '../../../plugins/execution-context-facts.ts'
import type { Acting, Layer } from '../../../plugins/layer.ts'
import type { Target } from '../../../plugins/reply.ts'
import type { CallRecord } from '../../call-record.ts'
import type { CopyAsk } from './copy-ask.ts'
import { copySpan } from './copy-span.ts'

/** How a call is answered twice more. */
export interface CopyPlan {
  readonly moving: string
  /** Where its answer came from: both copies go there. */
  readonly target: Target
  readonly call: Call
  /** As it was answered, once more; and with the moving layer at the runner. */
  readonly old: CopyAsk
  readonly now: CopyAsk
}

/** The layers of a configuration, outermost first. */
export interface CopyLayers {
  readonly layers: readonly Layer[]
  readonly acting: ReadonlyMap<string, Acting>
}

/**
 * How a call is answered twice more. Undefined where that would compare nothing: no layer moves or the moving one decided at the runner
 * already, something fell back, the answer is a cache's, or it took more than one try.
 */
export function planOf(record: CallRecord, { layers, acting }: CopyLayers): CopyPlan | undefined {
  const { fold, source, attempts, span } = record
  const moving = fold && [...fold.stages].find(([, stage]) => stage === 'shadow' || stage === 'canary')?.[0]
  const [attempt] = attempts
  if (!fold || moving === undefined || !attempt || attempts.length > 1 || source !== 'runner') return undefined
  const { inner } = fold
  const { target } = attempt
  const before = fold.halves.get(moving)?.call
  const decides = fold.modes.get(moving) === 'enforce' || fold.fallbacks.size > 0
  if (decides || !inner || !before || inner.route === 'embeddings') return undefined
  const here = layers.filter(({ name }) => fold.decided.has(name))
  // Two copies of one call would answer each other out of a cache: only one that moves is asked.
  const native = layers
    .filter(({ name, answers }) => !answers && fold.modes.get(name) === 'enforce')
    .map(({ name }) => name)
  const askOf = (call: Call, names: ReadonlySet<string>, attempt: number): CopyAsk => {
    const left = here.filter(({ name }) => !names.has(name))
    return {
      call,
      modes: modesOf(layers, names),
      attempt,
      enforces: left.flatMap((layer) => layer.enforces ?? []),
      // Those that count or store would count the call once more.
      settles: left.filter(({ meters, answers }) => !meters && !answers).flatMap(({ name }) => acting.get(name) ?? []),
      inner,
      span: copySpan(span, { target, call, moving, copy: attempt === 1 ? 'old' : 'new' }),
    }
  }
  return {
    moving,
    target,
    call: inner,
    old: askOf(inner, new Set(native), 1),
    now: askOf(before, new Set([...native, moving]), 2),
  }
}

function modesOf(layers: readonly Layer[], names: ReadonlySet<string>): ContextModes {
  return Object.fromEntries(layers.filter(({ name }) => names.has(name)).map(({ name }) => [name, 'enforce'] as const))
}
