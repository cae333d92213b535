import type { Chunk, ChunkChoice } from '../chat.ts'

/** Counts what an answer used, from its usage report or, where there is none, from its text. */
export interface Meter {
  chunk(chunk: Chunk): void
  /** Tokens of the whole call. */
  total(): number
}

/** Text is counted in pieces of about this many characters, so that a long answer is never held. */
const pieceChars = 4096

/** Makes a {@link Meter}. `inputTokens` stands in for the prompt while no usage has been reported. */
export function createMeter(inputTokens: number, count: (text: string) => number): Meter {
  let reported: number | undefined
  let counted = 0
  let held = ''
  return {
    chunk({ usage, choices }) {
      if (usage) reported = usage.total_tokens ?? (usage.prompt_tokens ?? inputTokens) + (usage.completion_tokens ?? 0)
      if (reported !== undefined) return
      for (const choice of choices ?? []) held += textOfChoice(choice)
      if (held.length < pieceChars) return
      counted += count(held)
      held = ''
    },
    total: () => reported ?? inputTokens + counted + (held === '' ? 0 : count(held)),
  }
}

function textOfChoice({ delta, text }: ChunkChoice): string {
  if (!delta) return text ?? ''
  let said = typeof delta.content === 'string' ? delta.content : ''
  const reasoning = delta['reasoning_content'] ?? delta['reasoning']
  if (typeof reasoning === 'string') said += reasoning
  for (const call of delta.tool_calls ?? []) said += `${call.function?.name ?? ''}${call.function?.arguments ?? ''}`
  return said
}
