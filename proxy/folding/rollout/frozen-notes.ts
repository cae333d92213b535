import type { Notes, StageDocument } from '../state/document.ts'
import type { RolloutStep } from './evidence-counts.ts'
import type { FrozenStep } from './frozen-steps.ts'

const name = 'frozen '
const keyOf = (rollout: string, step: RolloutStep): string => `${name}${rollout} ${step}`

/** What a step is judged by as it stands beside the stages; undefined where it does not, or cannot be made sense of. */
export function frozenIn(
  { notes }: Pick<StageDocument, 'notes'>,
  rollout: string,
  step: RolloutStep,
): FrozenStep | undefined {
  const text = notes?.[keyOf(rollout, step)]
  if (text === undefined) return undefined
  try {
    const found = JSON.parse(text) as Partial<FrozenStep> | null
    return found?.constants?.step === step && found.limits ? (found as FrozenStep) : undefined
  } catch {
    return undefined
  }
}

/** The notes with what a step is judged by; what other steps and rollouts were judged by goes. */
export function frozenNotes(
  { notes = {} }: Pick<StageDocument, 'notes'>,
  { rollout, step, frozen }: { readonly rollout: string; readonly step: RolloutStep; readonly frozen: FrozenStep },
): Notes {
  const key = keyOf(rollout, step)
  const others = Object.keys(notes).filter((each) => each.startsWith(name) && each !== key)
  return { ...Object.fromEntries(others.map((each) => [each, ''])), [key]: JSON.stringify(frozen) }
}
