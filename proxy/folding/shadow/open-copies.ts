import type { ShadowConfig } from '../../../config/shadow.ts'
import type { Route } from '../../../plugins/chat.ts'
import { gatewayError } from '../../../plugins/errors.ts'
import type { Host } from '../../../plugins/host.ts'
import { send } from '../../exchange.ts'
import { openLine } from '../../line.ts'
import type { RunnerSettings } from '../../runner-settings.ts'
import type { ContextAsk, SealedSend } from '../context.ts'
import { createEmbeddingSimilarity, embeddingsRequest, vectorsFromBody } from '../diff/embedding-similarity.ts'
import { createPairing } from '../diff/pair-outcome.ts'
import { createShadowBudget } from '../diff/shadow-budget.ts'
import { lexical, type Similar } from '../diff/similarity.ts'
import { createStratifiedSample } from '../diff/stratified-sample.ts'
import type { Instances } from '../instances.ts'
import type { FoldedPolicy } from '../policies.ts'
import type { CompareSettings } from './comparing.ts'
import { type Copies, createCopies } from './copies.ts'
import type { CopyLayers } from './copy-plan.ts'
import type { Shadow } from './shadow.ts'
import { createTripleBook } from './triples.ts'

/** What {@link Copies} are opened with, for one configuration. */
export interface OpenCopiesParts extends CopyLayers {
  readonly config: ShadowConfig
  readonly shadow: Shadow
  readonly settings: CompareSettings
  readonly host: Host
  readonly runners: readonly RunnerSettings[]
  readonly instances: Instances | undefined
  contexts(ask: ContextAsk): SealedSend
  policyOf(route: Route): FoldedPolicy | undefined
}

/** Opens {@link Copies}; undefined where no call is to be copied. Throws `config_invalid` for a similarity that cannot be had. */
export function openCopies(parts: OpenCopiesParts): Copies | undefined {
  const { config, shadow, settings, host, instances, contexts, policyOf, layers, acting } = parts
  const similar = similarOf(parts)
  if (!instances || config.endToEndSample === 0) return undefined
  return createCopies({
    layers,
    acting,
    sample: createStratifiedSample({ rate: config.endToEndSample }),
    budget: createShadowBudget({
      maxInflight: config.maxInflight,
      live: shadow.live,
      now: () => performance.now(),
    }),
    judge: createPairing({ seed: host.secret('shadow pairs').toString('hex'), similar }),
    triples: createTripleBook(shadow, settings, () => host.clock.now()),
    way({ target, call }) {
      const instance = instances.pick(target.runner)
      const policy = policyOf(call.route)
      return instance && policy && { instance, policy, contexts }
    },
    now: () => host.clock.now(),
    closed: host.closed,
  })
}

const embedMs = 10_000
const mostBytes = 4_194_304

function similarOf({ config: { similarity }, runners, host }: OpenCopiesParts): Similar {
  const { kind, runner, model } = similarity
  if (kind === 'lexical') return lexical
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
