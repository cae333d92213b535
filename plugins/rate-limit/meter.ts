import type { Chunk, ChunkChoice, Usage } from '../chat.ts'

/** Counts what an answer uses while it goes by: the runner's own report, or, where there is none, the text. */
export interface Meter {
  push(chunk: Chunk): void
  /** Something of the answer has gone by. */
  readonly begun: boolean
  /** The runner's report, if one came. */
  readonly usage: Usage | undefined
  /** Output tokens so far, counted here. */
  output(): number
}

/**
 * Makes a {@link Meter}; `count` gives the tokens of a text. Text is counted in pieces of `pieceLength` characters, so that no count is long
 * and little is kept.
 */
export function createMeter(count: (text: string) => number, pieceLength: number): Meter {
  let begun = false
  let usage: Usage | undefined
  let counted = 0
  let piece = ''
  return {
    push(chunk) {
      begun = true
      if (chunk.usage) usage = chunk.usage
      // Who has been told need not count.
      if (isCount(usage?.completion_tokens)) return
      for (const choice of chunk.choices ?? []) piece += textOfChoice(choice)
      if (piece.length < pieceLength) return
      counted += count(piece)
      piece = ''
    },
    get begun() {
      return begun
    },
    get usage() {
      return usage
    },
    output() {
      const told = usage?.completion_tokens
      return isCount(told) ? told : counted + (piece ? count(piece) : 0)
    },
  }
}

/** All that a model wrote in one step: text, refusal, reasoning, and the names and arguments of tool calls. */
function textOfChoice({ text, delta }: ChunkChoice): string {
  let all = typeof text === 'string' ? text : ''
  if (!delta) return all
  for (const name of ['content', 'refusal', 'reasoning_content', 'reasoning']) {
    const part = delta[name]
    if (typeof part === 'string') all += part
  }
  if (!Array.isArray(delta.tool_calls)) return all
  for (const call of delta.tool_calls) all += `${call.function?.name ?? ''}${call.function?.arguments ?? ''}`
  return all
}

/** The tokens a usage report adds up to; undefined when it says nothing that makes sense. */
export function tokensOfUsage(usage: Usage | undefined): number | undefined {
  if (!usage) return undefined
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = usage
  const sum = isCount(prompt) ? prompt + (isCount(completion) ? completion : 0) : total
  return isCount(sum) ? Math.round(sum) : undefined
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < 1e10
}
