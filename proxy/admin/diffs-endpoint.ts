import { gatewayError } from '../../plugins/errors.ts'
import type { Endpoint } from './endpoint.ts'

/** `GET /-/diffs`: in what the two halves of layers differ; with `?layer=` one of them, with `?legacy` how far we agree with the chain that serves. */
export const diffs: Endpoint = {
  method: 'GET',
  path: '/-/diffs',
  run(operations, { query }) {
    if (query.has('legacy')) {
      const report = operations.legacy()
      if (report) return { body: report }
      throw gatewayError('not_found', 'no existing chain is configured: folding.shadow.legacy is null')
    }
    const view = operations.diffs()
    const layer = query.get('layer')
    if (layer === null) return { body: view }
    const known = view.layers[layer]
    if (known) return { body: { ...view, layers: { [layer]: known } } }
    if (layer !== 'answer' && !operations.layers().some(({ name }) => name === layer))
      throw gatewayError('not_found', 'there is no such layer')
    return { body: { ...view, layers: {} } }
  },
}
