/** Words of each text that are compared at most. */
export const mostWords = 2_000

/** How alike two lists of words are: 1 − edit distance (insert, delete, replace) by the longer one's length. 1 for two empty ones. */
export function editSimilarity(old: readonly string[], now: readonly string[]): number {
  const longer = Math.max(old.length, now.length)
  if (longer === 0) return 1
  const [one, two] = trimmed(old.slice(0, mostWords), now.slice(0, mostWords))
  return 1 - distance(one, two) / Math.min(longer, mostWords)
}

/** Without what both begin and end with, which costs nothing. */
function trimmed(old: readonly string[], now: readonly string[]): readonly [readonly string[], readonly string[]] {
  const shorter = Math.min(old.length, now.length)
  let [start, end] = [0, 0]
  while (start < shorter && old[start] === now[start]) start++
  while (end < shorter - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end++
  return [old.slice(start, old.length - end), now.slice(start, now.length - end)]
}

function distance(old: readonly string[], now: readonly string[]): number {
  if (old.length === 0 || now.length === 0) return Math.max(old.length, now.length)
  const codes = new Map<string, number>()
  const codeOf = (word: string): number => {
    const code = codes.get(word) ?? codes.size
    codes.set(word, code)
    return code
  }
  const [one, two] = [Int32Array.from(old, codeOf), Int32Array.from(now, codeOf)]
  let above = Uint16Array.from({ length: two.length + 1 }, (_, index) => index)
  let row = new Uint16Array(two.length + 1)
  for (let i = 0; i < one.length; i++) {
    row[0] = i + 1
    for (let j = 0; j < two.length; j++) {
      const replaced = (above[j] as number) + (one[i] === two[j] ? 0 : 1)
      row[j + 1] = Math.min(replaced, (above[j + 1] as number) + 1, (row[j] as number) + 1)
    }
    ;[above, row] = [row, above]
  }
  return above[two.length] as number
}
