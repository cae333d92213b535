import { gatewayError } from '../../plugins/errors.ts'
import { flaggerHooks } from '../outside/hooks/flagger.ts'
import { analysisPath, peersPath } from './access.ts'
import type { Endpoint } from './endpoint.ts'
import type { Operations } from './operations.ts'

/** A rollback so long ago still fails an analysis, unless the question says otherwise. */
const recentlySeconds = 3_600

/** Throws `not_found` for a layer that is not configured. */
function requireConfigured(operations: Operations, layer: string): void {
  if (!operations.layers().some(({ name, on }) => on && name === layer))
    throw gatewayError('not_found', `layer "${layer}" is not configured`)
}

/** `GET /-/evidence`: what the layers that move are judged by now; with `?layer=` one of them. */
const evidence: Endpoint = {
  method: 'GET',
  path: '/-/evidence',
  run(operations, { query }) {
    const view = operations.evidence()
    const layer = query.get('layer')
    if (layer === null) return { body: view }
    requireConfigured(operations, layer)
    const record = view.layers[layer]
    return { body: { layers: record ? { [layer]: record } : {} } }
  },
}

/** `GET /-/analysis?layer=`: how a layer's rollout goes, for the web metric of Argo Rollouts. */
const analysis: Endpoint = {
  method: 'GET',
  path: analysisPath,
  run(operations, { query }) {
    const layer = query.get('layer')
    if (layer === null) throw gatewayError('invalid_request', 'ask with ?layer=')
    const text = query.get('withinSeconds') ?? String(recentlySeconds)
    if (!/^\d{1,7}$/.test(text)) throw gatewayError('invalid_request', 'withinSeconds must be a whole number')
    requireConfigured(operations, layer)
    return { body: operations.analysis(layer, Number(text) * 1_000) }
  },
}

/** `POST /-/analysis/{hook}`: the webhooks of Flagger. They look and change nothing, so the role viewer is enough. */
const hooks = flaggerHooks.map(
  (hook): Endpoint => ({
    method: 'POST',
    path: `${analysisPath}/${hook}`,
    run(operations, { body }) {
      const { status, words } = operations.flagger(hook, body)
      return { status, contentType: 'text/plain; charset=utf-8', body: `${words}\n` }
    },
  }),
)

/** `POST /-/peers`: trips and counters of other replicas, signed with the signing key instead of a token; so is the answer. */
const peers: Endpoint = {
  method: 'POST',
  path: peersPath,
  async run(operations, { body }) {
    const reply = await operations.receivePeer(JSON.stringify(body))
    if (reply) return reply
    throw gatewayError('not_found', 'replicas do not speak to each other here: folding.peers is empty, or no key signs')
  },
}

/** What tools outside and other replicas ask about rollouts. */
export const rolloutEndpoints: readonly Endpoint[] = [evidence, analysis, ...hooks, peers]
