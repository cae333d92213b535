import type { Arm } from '../rollout/evidence-counts.ts'

/** Lengths of answers in one rollout, against those that the control gave at first. */
export interface AnswerLengths {
  /** Takes the length of an answer in characters; undefined while there is nothing to hold it against. */
  take(arm: Arm, chars: number): AnswerLength | undefined
}

/** Whether an answer is shorter than 95 % of the control's were, or longer. */
export interface AnswerLength {
  readonly short: boolean
  readonly long: boolean
}

/** From so many answers of the control the limits are taken, once for the whole rollout. */
const firstAnswers = 200
const tail = 0.05

/** Makes {@link AnswerLengths}. Both arms are held against the same limits, so that it does no harm if they are somewhat off. */
export function createAnswerLengths(): AnswerLengths {
  const first: number[] = []
  let limits: { readonly least: number; readonly most: number } | undefined
  return {
    take(arm, chars) {
      if (limits) return { short: chars < limits.least, long: chars > limits.most }
      if (arm !== 'control') return undefined
      first.push(chars)
      if (first.length < firstAnswers) return undefined
      const sorted = first.splice(0).sort((a, b) => a - b)
      const at = Math.floor(tail * firstAnswers)
      limits = { least: sorted[at]!, most: sorted[firstAnswers - 1 - at]! }
      return undefined
    },
  }
}
