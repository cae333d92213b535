import type { Job } from '../engine.ts'
import { invalid } from '../fields.ts'
import { overflow, type Prompt, promptParam } from '../prompts.ts'
import type { ModelFacts } from './llama-messages.ts'

/** Turns prompts into tokens in the engine process. */
export type Tokenizer = (prompt: Prompt) => Promise<readonly number[]>

/** Characters in all strings of a value. */
function charsOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce((sum: number, item) => sum + charsOf(item), 0)
}

function refuseUnknownTokens(prompt: Prompt, facts: ModelFacts, param: string): void {
  if (prompt.kind === 'tokens' && prompt.tokens.some((token) => token >= facts.vocabularySize))
    throw invalid(param, `has a token id that the model does not know (it has ${facts.vocabularySize})`)
}

/**
 * The tokens of a prompt, before anything is computed. Throws `context_length_exceeded` for one so long that reading it
 * would only waste time: even in the longest tokens it could not fit.
 */
export async function tokensFromPrompt(prompt: Prompt, facts: ModelFacts, param: string, tokenizer: Tokenizer) {
  refuseUnknownTokens(prompt, facts, param)
  const least = Math.ceil(charsOf(prompt) / facts.tokenChars)
  if (least > facts.contextTokens) throw overflow(least, facts.contextTokens, param)
  return tokenizer(prompt)
}

/** The tokens of each prompt of a job. Throws `context_length_exceeded` where one leaves no room for an answer. */
export async function tokensFromJob(job: Job, prompts: readonly Prompt[], facts: ModelFacts, tokenizer: Tokenizer) {
  const param = promptParam(job)
  const found: (readonly number[])[] = []
  for (const prompt of prompts) {
    const tokens = await tokensFromPrompt(prompt, facts, param, tokenizer)
    if (tokens.length === 0) throw invalid(param, 'must not be empty')
    if (tokens.length >= facts.contextTokens) throw overflow(tokens.length, facts.contextTokens, param)
    found.push(tokens)
  }
  return found
}
