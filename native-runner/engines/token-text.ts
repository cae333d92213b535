import type { Model } from './native.ts'

/** Tokens as text, as they come; a character whose bytes are spread over tokens comes out whole. */
export interface TokenText {
  /** The text that a further token completes; may be empty. */
  push(token: number): string
  /** What was held back because a character was not complete. */
  flush(): string
}

// A UTF-8 character has at most four bytes, and a token at least one.
const mostTokensOfACharacter = 4

/** Text from tokens that follow `before`: what came before decides about leading spaces. */
export function createTokenText(model: Pick<Model, 'detokenize'>, before: readonly number[]): TokenText {
  let last = before.slice(-8)
  let pending: number[] = []
  const take = (text: string): string => {
    last = [...last, ...pending].slice(-8)
    pending = []
    return text
  }
  return {
    push(token) {
      pending.push(token)
      const text = model.detokenize(pending, false, last)
      return text.endsWith('\u{fffd}') && pending.length < mostTokensOfACharacter ? '' : take(text)
    },
    flush: () => (pending.length > 0 ? take(model.detokenize(pending, false, last)) : ''),
  }
}
