import { createHash } from 'node:crypto'
import type { Prompt } from '../prompts.ts'

/** Numbers in an echo embedding. */
export const echoDimensions = 64

/** A text in word-ish pieces that join to the same text: a word of at most 12 letters, or a mark, with the space before it. */
export function wordsFrom(text: string): string[] {
  return text.match(/\s*(?:[\p{L}\p{N}]{1,12}|[^\s\p{L}\p{N}])|\s+$/gu) ?? []
}

function hash(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0) >>> 1
}

/** One stable id a piece. */
export function tokensFromWords(words: readonly string[]): number[] {
  return words.map(hash)
}

/** The whole prompt as the echo engine counts it. */
export function textFromPrompt(prompt: Prompt): string {
  if (prompt.kind === 'text') return prompt.text
  if (prompt.kind === 'tokens') return prompt.tokens.join(' ')
  return prompt.messages.map(({ role, content }) => `${role}: ${content}`).join('\n')
}

/** What the echo engine answers: the last user message, or the prompt itself. */
export function answerFromPrompt(prompt: Prompt): string {
  if (prompt.kind !== 'chat') return textFromPrompt(prompt)
  return prompt.messages.findLast(({ role }) => role === 'user')?.content ?? prompt.messages.at(-1)?.content ?? ''
}

/** A unit vector that counts hashed words: texts that share words come out near each other. */
export function vectorFromWords(words: readonly string[]): number[] {
  const counts = new Array<number>(echoDimensions).fill(0)
  for (const word of words) counts[hash(word.trim().toLowerCase()) % echoDimensions]! += 1
  const length = Math.hypot(...counts) || 1
  return counts.map((count) => count / length)
}
