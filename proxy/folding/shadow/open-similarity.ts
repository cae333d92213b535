import type { ShadowConfig } from '../../../config/shadow.ts'
import { gatewayError } from '../../../plugins/errors.ts'
import type { Host } from '../../../plugins/host.ts'
import { send } from '../../exchange.ts'
import { openLine } from '../../line.ts'
import type { RunnerSettings } from '../../runner-settings.ts'
import { createEmbeddingSimilarity, embeddingsRequest, vectorsFromBody } from '../diff/embedding-similarity.ts'
import { lexical, type Similar } from '../diff/similarity.ts'
import { openSentences } from './sentences.ts'

/** What a similarity may use. */
export interface SimilarityParts {
  readonly runners: readonly RunnerSettings[]
  readonly host: Pick<Host, 'closed'>
}

const embedMs = 10_000
const mostBytes = 4_194_304

/**
 * How alike texts are, as the configuration says. Throws `config_invalid` for embeddings of no runner or no model, and for sentences where
 * their packages are not installed.
 */
export function openSimilarity(
  { kind, runner, model }: ShadowConfig['similarity'],
  { runners, host }: SimilarityParts,
): Similar {
  if (kind === 'lexical') return lexical
  if (kind === 'sentences') return createEmbeddingSimilarity(openSentences(host.closed))
  const settings = runners.find(({ name }) => name === runner)
  const field = `folding.shadow.similarity.${settings ? 'model' : 'runner'}`
  if (!settings) throw gatewayError('config_invalid', `${field} must name a runner`, { field })
  if (model === null) throw gatewayError('config_invalid', `${field} must name the model of the embeddings`, { field })
  const line = openLine(settings)
  host.closed.addEventListener('abort', () => void line.pool.destroy())
  return createEmbeddingSimilarity(async (texts) => {
    const exchange = await send(line.pool, {
      method: 'POST',
      path: `${line.base}/v1/embeddings`,
      headers: [...line.headers, 'content-type', 'application/json'],
      body: Buffer.from(JSON.stringify(embeddingsRequest(model, texts))),
      signal: AbortSignal.any([host.closed, AbortSignal.timeout(embedMs)]),
    })
    const body = await exchange.whole(mostBytes)
    if (exchange.status !== 200) throw gatewayError('runner_error', `embeddings were answered ${exchange.status}`)
    return vectorsFromBody(JSON.parse(body.toString('utf8')))
  })
}
