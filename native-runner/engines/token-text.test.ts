import { expect, it } from 'vitest'
import { createTokenText } from './token-text.ts'

/** A tokenizer of one token a byte. */
const bytes = { detokenize: (tokens: readonly number[]) => Buffer.from(tokens).toString('utf8') }

it('a character that comes in several tokens goes out whole', () => {
  const text = createTokenText(bytes, [])
  const out = [...Buffer.from('né🍨x')].map((byte) => text.push(byte))
  expect(out).toEqual(['n', '', 'é', '', '', '', '🍨', 'x'])
  expect(text.flush()).toBe('')
})

it('bytes that never become a character are not waited for without end', () => {
  const text = createTokenText(bytes, [])
  const out = [0x9f, 0x9f, 0x9f, 0x9f, 0x41].map((byte) => text.push(byte)).join('')
  expect(out + text.flush()).toMatch(/^\u{fffd}+A$/u)
  expect(text.push(0xc3)).toBe('')
  expect(text.flush()).toBe('\u{fffd}')
})

it('the tokens before tell the tokenizer what a text goes on from', () => {
  const seen: (readonly number[])[] = []
  const spy = {
    detokenize: (_tokens: readonly number[], _special: boolean, last: readonly number[] = []) => {
      seen.push(last)
      return 'x'
    },
  }
  const text = createTokenText(spy, [1, 2, 3])
  text.push(4)
  text.push(5)
  expect(seen).toEqual([
    [1, 2, 3],
    [1, 2, 3, 4],
  ])
})
