import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createPhraseTree } from './phrases.ts'

/** Every phrase that ends at each position, found the slow way. */
const slowly = (phrases: readonly string[], text: string): number[][] =>
  Array.from({ length: text.length }, (_, i) =>
    phrases.flatMap((phrase, number) => (phrase && text.slice(0, i + 1).endsWith(phrase) ? [number] : [])),
  )

test('the tree finds what a search for each phrase finds, and holds back no more than what can go on', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 0, maxLength: 5 })
  fc.assert(
    fc.property(
      fc.array(word, { maxLength: 8 }),
      fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'd'), maxLength: 40 }),
      (phrases, text) => {
        const tree = createPhraseTree(phrases, 'literal/1')
        let state = 0
        const found: number[][] = []
        for (let i = 0; i < text.length; i++) {
          state = tree.next(state, text.charCodeAt(i))
          found.push([...tree.ending(state)])
          const tails = Array.from({ length: i + 1 }, (_, from) => text.slice(from, i + 1))
          const longest = tails.find((tail) =>
            phrases.some((phrase) => phrase.length > tail.length && phrase.startsWith(tail)),
          )
          expect(tree.pending(state)).toBe(longest?.length ?? 0)
        }
        expect(found).toEqual(slowly(phrases, text))
      },
    ),
    { seed: 7, numRuns: 500 },
  )
})

test('ASCII letters are folded where the semantics say so', () => {
  const tree = createPhraseTree(['AbÄ'], 'literal-ascii-ci/1')
  const ends = (text: string): boolean =>
    tree.ending([...text].reduce((state, c) => tree.next(state, c.charCodeAt(0)), 0)).length > 0
  expect([ends('abÄ'), ends('ABÄ'), ends('abä')]).toEqual([true, true, false])
  expect(tree.longest).toBe(3)
})

test('ten thousand phrases with Chinese characters stay small', () => {
  const phrases = Array.from({ length: 10_000 }, (_, i) => `禁止${String.fromCharCode(0x4e00 + i)}词${i}`)
  const start = performance.now()
  const tree = createPhraseTree(phrases, 'literal-ascii-ci/1')
  expect(performance.now() - start).toBeLessThan(3000)
  const last = [...(phrases[9_999] as string)].reduce((state, c) => tree.next(state, c.charCodeAt(0)), 0)
  expect(tree.ending(last)).toEqual([9_999])
})
