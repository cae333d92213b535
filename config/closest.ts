/** Longest word that is compared. */
const longest = 64

/** The candidate nearest to a misspelt word, ignoring case, `-` and `_`; undefined when none is near. */
export function closest(word: string, candidates: readonly string[]): string | undefined {
  const plain = plainWord(word)
  const allowed = Math.max(1, Math.floor(plain.length / 3))
  let best: { candidate: string; distance: number } | undefined
  for (const candidate of candidates) {
    const distance = editDistance(plain, plainWord(candidate))
    if (distance <= allowed && (!best || distance < best.distance)) best = { candidate, distance }
  }
  return best?.candidate
}

const plainWord = (word: string): string => word.slice(0, longest).toLowerCase().replaceAll(/[-_]/g, '')

/** Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours. */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let row = 1; row <= a.length; row++) {
    const next = [row]
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1]
      let cost = Math.min(last[column]! + 1, next[column - 1]! + 1, last[column - 1]! + (same ? 0 : 1))
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      if (swapped) cost = Math.min(cost, before[column - 2]! + 1)
      next.push(cost)
    }
    before = last
    last = next
  }
  return last[b.length]!
}
