import { editSimilarity, mostWords } from './edit-similarity.ts'
import { type Guard, guardAgainst } from './meaning-guard.ts'
import { shapeDifferences, shapeOf, shapeParts } from './text-shape.ts'
import { divergenceOf, normalisedText, wordsOf } from './words.ts'

/** How alike two texts are. No threshold on it decides anything: it is only ever compared with that of another pair. */
export interface Similarity {
  /** 0 to 1; 1 for texts that are the same to a reader, 0 when a guard tells them apart. */
  readonly score: number
  /** The score without the guard. */
  readonly raw: number
  readonly guard?: Guard
}

/** Says how alike a text is to each of others; undefined when it cannot be said now. */
export type Similar = (
  text: string,
  others: readonly string[],
) => readonly Similarity[] | Promise<readonly Similarity[] | undefined>

/** A score, held to what the guard says of the texts. */
export function guarded(old: string, now: string, raw: number): Similarity {
  const guard = guardAgainst(old, now)
  return guard ? { score: 0, raw, guard } : { score: raw, raw }
}

const weights = { edit: 0.7, prefix: 0.1, shape: 0.2 } as const

/** How alike two texts read, by their words: how many must be changed, how far they go together, and what they are made of. */
export function lexicalSimilarity(old: string, now: string): Similarity {
  if (old === now) return { score: 1, raw: 1 }
  const [one, two] = [plainText(old), plainText(now)]
  const divergence = divergenceOf(one, two)
  if (!divergence) return { score: 1, raw: 1 }
  const edit = editSimilarity(wordsOf(one, mostWords), wordsOf(two, mostWords))
  const differing = shapeDifferences(shapeOf(one), shapeOf(two)).length
  const shape = 1 - differing / shapeParts.length
  return guarded(one, two, weights.edit * edit + weights.prefix * divergence.prefix + weights.shape * shape)
}

/** {@link lexicalSimilarity} to each of several texts. */
export const lexical = (text: string, others: readonly string[]): readonly Similarity[] =>
  others.map((other) => lexicalSimilarity(text, other))

/** Normalised, with amounts of money and runs of blanks written one way. */
function plainText(text: string): string {
  return normalisedText(text)
    .replace(/(?:US\$|USD|\$) ?(\d)/g, '$ $1')
    .replace(/(\d) ?(?:dollars|USD)\b/g, '$ $1')
    .replace(/(?:EUR|€) ?(\d)/g, '€ $1')
    .replace(/(?:CNY|RMB|¥|￥) ?(\d)/g, '¥ $1')
    .replace(/(\d),(?=\d{3}(?!\d))/g, '$1')
    .replace(/[^\S\n]+/g, ' ')
}
