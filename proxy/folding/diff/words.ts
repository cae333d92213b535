import type { Divergence } from './difference.ts'

// A word, one character of a script without blanks between words, or one mark. Blanks are no words.
const pattern =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|\d+(?:[.,]\d+)*|[\p{L}\p{M}\p{N}_]+(?:['’][\p{L}]+)?|[^\s\p{L}\p{M}\p{N}_]/gu

/** The words of a text, at most so many: something like its tokens, in any language. Case counts. */
export function wordsOf(text: string, most = Number.POSITIVE_INFINITY): readonly string[] {
  const words: string[] = []
  for (const [word] of text.matchAll(pattern)) {
    if (words.length >= most) break
    words.push(word)
  }
  return words
}

/** A text without what no reader sees: NFC, line ends as LF, no blanks at ends of lines or of the text. */
export function normalisedText(text: string): string {
  return text
    .normalize('NFC')
    .replace(/\r\n?/g, '\n')
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .trim()
}

/** Where two texts part ways; undefined when they are the same. */
export function divergenceOf(old: string, now: string): Divergence | undefined {
  if (old === now) return undefined
  const shorter = Math.min(old.length, now.length)
  let at = 0
  while (at < shorter && old.charCodeAt(at) === now.charCodeAt(at)) at++
  return { at, word: wordAt(old, now, at), prefix: at / Math.max(old.length, now.length) }
}

/** How many words the texts have in common from the start, when they part at a code unit: one that is cut there does not count. */
function wordAt(old: string, now: string, at: number): number {
  const common = wordsOf(old.slice(0, at)).length
  const last = common - 1
  const lastOf = (text: string): string | undefined => wordsOf(text.slice(0, at + longestWord), common)[last]
  return common > 0 && lastOf(old) !== lastOf(now) ? last : common
}

/** A word is followed so far beyond where texts part. */
const longestWord = 64
