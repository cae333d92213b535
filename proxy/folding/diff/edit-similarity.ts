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

const bits = 32

/** Edit distance by bits: a column of the table is kept as its ups and downs, 32 rows a number (Myers 1999, in blocks as Hyyrö 2003). */
function distance(old: readonly string[], now: readonly string[]): number {
  if (old.length === 0 || now.length === 0) return Math.max(old.length, now.length)
  const blocks = Math.ceil(old.length / bits)
  const rows = rowsOfWords(old, blocks)
  const column: Column = { ups: new Int32Array(blocks).fill(-1), downs: new Int32Array(blocks), rows, blocks }
  const last = 1 << ((old.length - 1) % bits)
  let found = old.length
  for (const word of now) found += advance(column, rows.start.get(word), last)
  return found
}

interface WordRows {
  /** Where the rows of a word begin in `bits`; words that are not in the text have none. */
  readonly start: ReadonlyMap<string, number>
  readonly bits: Int32Array
}

function rowsOfWords(words: readonly string[], blocks: number): WordRows {
  const start = new Map<string, number>()
  for (const word of words) if (!start.has(word)) start.set(word, start.size * blocks)
  const found = new Int32Array(start.size * blocks)
  for (const [row, word] of words.entries()) {
    const at = (start.get(word) as number) + Math.floor(row / bits)
    found[at] = (found[at] as number) | (1 << (row % bits))
  }
  return { start, bits: found }
}

interface Column {
  readonly ups: Int32Array
  readonly downs: Int32Array
  readonly rows: WordRows
  readonly blocks: number
}

/** The next column, for one more word; gives by how much the distance in the last row changes. */
function advance({ ups, downs, rows, blocks }: Column, start: number | undefined, last: number): number {
  let carry = 1
  for (let block = 0; block < blocks; block++) {
    const top = block === blocks - 1 ? last : 1 << (bits - 1)
    const up = ups[block] as number
    const down = downs[block] as number
    const same = start === undefined ? 0 : (rows.bits[start + block] as number)
    const entered = carry < 0 ? same | 1 : same
    const across = ((((entered & up) + up) | 0) ^ up) | entered
    const plus = down | ~(across | up)
    const minus = up & across
    const next = plus & top ? 1 : minus & top ? -1 : 0
    const plusIn = (plus << 1) | (carry > 0 ? 1 : 0)
    const minusIn = (minus << 1) | (carry < 0 ? 1 : 0)
    const along = same | down
    ups[block] = minusIn | ~(along | plusIn)
    downs[block] = plusIn & along
    carry = next
  }
  return carry
}
