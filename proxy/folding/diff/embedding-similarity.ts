import { gatewayError } from '../../../plugins/errors.ts'
import { guarded, type Similar } from './similarity.ts'
import { normalisedText } from './words.ts'

/** Makes a vector of each text, in their order. */
export type Embed = (texts: readonly string[]) => Promise<readonly (readonly number[])[]>

/** Longer texts are embedded up to here, in UTF-16 code units: models of embeddings take a few hundred tokens anyway. */
const longest = 8_192

/**
 * How alike texts are by the cosine of their vectors, with the guard. Undefined when the vectors cannot be had: the pair is then skipped,
 * since another measure would not compare with the rest.
 */
export function createEmbeddingSimilarity(embed: Embed): Similar {
  return async (text, others) => {
    const texts = [text, ...others].map((each) => normalisedText(each).slice(0, longest))
    let vectors: readonly (readonly number[])[]
    try {
      vectors = await embed(texts)
    } catch {
      return undefined
    }
    const [first] = vectors
    if (!first || vectors.length !== texts.length) return undefined
    return others.map((other, index) => {
      const same = texts[0] === texts[index + 1]
      return same ? { score: 1, raw: 1 } : guarded(text, other, cosine(first, vectors[index + 1] ?? []))
    })
  }
}

/** Cosine of two vectors, cut to 0 and 1; 0 for vectors of different lengths and for those without length. */
export function cosine(one: readonly number[], two: readonly number[]): number {
  let [dot, a, b] = [0, 0, 0]
  for (let index = 0; index < one.length; index++) {
    const [x, y] = [one[index] ?? 0, two[index] ?? 0]
    dot += x * y
    a += x * x
    b += y * y
  }
  if (one.length !== two.length || a === 0 || b === 0) return 0
  return Math.min(1, Math.max(0, dot / Math.sqrt(a * b)))
}

/** The request of `/v1/embeddings` for texts. */
export function embeddingsRequest(model: string, texts: readonly string[]): Record<string, unknown> {
  return { model, input: texts, encoding_format: 'float' }
}

/** The vectors of an answer of `/v1/embeddings`, by their index. Throws `runner_protocol` for what is none. */
export function vectorsFromBody(body: unknown): readonly (readonly number[])[] {
  const { data } = (body ?? {}) as {
    readonly data?: readonly { readonly index?: number; readonly embedding?: unknown }[]
  }
  if (!Array.isArray(data)) throw gatewayError('runner_protocol', 'the runner answered without a list of embeddings')
  return data
    .toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0))
    .map(({ embedding }) => {
      const numbers = Array.isArray(embedding) && embedding.every((each) => typeof each === 'number')
      if (!numbers)
        throw gatewayError('runner_protocol', 'the runner answered with an embedding that is no list of numbers')
      return embedding as number[]
    })
}
