import type { ModelCard } from '../engine.ts'
import { refusal } from '../refusal.ts'
import type { Route } from './route.ts'

function wireFromCard({ id, created, contextTokens }: ModelCard): object {
  const limit = contextTokens === undefined ? {} : { max_model_len: contextTokens }
  return { id, object: 'model', created, owned_by: 'foldgate', ...limit }
}

/** `GET /v1/models` */
export const models: Route = {
  method: 'GET',
  path: '/v1/models',
  executes: ['models'],
  async answer(_asked, { engine }) {
    const cards = await engine.models()
    return { status: 200, body: { object: 'list', data: cards.map(wireFromCard) } }
  },
}

/** `GET /v1/models/{id}` */
export const model: Route = {
  method: 'GET',
  path: '/v1/models/*',
  async answer({ params }, { engine }) {
    const named = params['*'] ?? ''
    const card = (await engine.models()).find(({ id }) => id === named)
    if (!card) throw refusal('model_not_found', `model ${JSON.stringify(named)} is not served here`, { param: 'model' })
    return { status: 200, body: wireFromCard(card) }
  },
}
