import type { Chunk, ChunkChoice } from '../chat.ts'
import type { Transform } from '../reply.ts'
import { type StepsPlan, textFromSteps } from './steps.ts'

/** Longest answer that is held back to be rendered, in characters; a longer one goes out as it is. */
const maxHeldChars = 1_048_576

/**
 * Turns answers in the steps schema back into numbered text. Text is held back until its choice has finished; what turns out not to be
 * such an answer, or is cut off, goes out as it came.
 */
export function createStepsTransform(plan: StepsPlan): Transform {
  const held = new Map<number, string>()
  let head: Chunk = {}
  return {
    push(chunk) {
      if (!Array.isArray(chunk.choices) || chunk.choices.length === 0) return chunk
      const { choices, usage: _usage, ...rest } = chunk
      head = rest
      const ready: ChunkChoice[] = []
      const kept: ChunkChoice[] = []
      for (const choice of choices as readonly ChunkChoice[]) {
        const left = hold(choice, held)
        const text = released(choice, held, plan)
        if (text !== undefined) ready.push({ index: choice.index, delta: { content: text }, finish_reason: null })
        if (left) kept.push(left)
      }
      const out: Chunk[] = ready.length > 0 ? [{ ...rest, choices: ready }] : []
      if (kept.length > 0) out.push({ ...chunk, choices: kept })
      else if (chunk.usage) out.push({ ...chunk, choices: [] })
      return out
    },
    end() {
      const rest = [...held].map(([index, content]) => ({ index, delta: { content }, finish_reason: null }))
      held.clear()
      return rest.length > 0 ? [{ ...head, choices: rest }] : []
    },
  }
}

/** Takes a choice's text out; what is left of the choice, or undefined when nothing is. */
function hold(choice: ChunkChoice, held: Map<number, string>): ChunkChoice | undefined {
  const { delta } = choice
  const content = delta?.content
  if (!delta || typeof content !== 'string' || content === '') return choice
  held.set(choice.index, (held.get(choice.index) ?? '') + content)
  const { content: _content, ...others } = delta
  return Object.keys(others).length > 0 || choice.finish_reason ? { ...choice, delta: others } : undefined
}

function released(
  { index, finish_reason }: ChunkChoice,
  held: Map<number, string>,
  plan: StepsPlan,
): string | undefined {
  const text = held.get(index)
  if (text === undefined) return undefined
  if (!finish_reason && text.length <= maxHeldChars) return undefined
  held.delete(index)
  return finish_reason ? (textFromSteps(text, plan) ?? text) : text
}
