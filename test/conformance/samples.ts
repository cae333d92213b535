import type { FoldSource } from '../../plugins/host.ts'
import { layers } from '../../plugins/index.ts'
import type { Layer } from '../../plugins/layer.ts'

/** Settings under which each layer lets a plain question pass, whoever asks. */
const settings: Readonly<Record<string, (model: string | undefined) => unknown>> = {
  auth: () => ({ anonymous: true }),
  'rate-limit': () => ({ limits: [{ key_fields: ['tenant'], tokens_per_minute: 10_000_000 }] }),
  cache: () => ({ ttl_seconds: 60 }),
  routing: (model) => model && { targets: [{ runner: 'conformance', model }] },
  prompt: () => ({ templates: { main: { text: 'You serve {{ tenant }}.', version: '1' } } }),
  postprocess: () => ({ forbidden_phrases: ['a phrase that no answer to these questions has'] }),
}

const source: FoldSource = {
  declared: new Set(),
  conversationHeader: 'x-conversation-id',
  file: () => Buffer.alloc(0),
  secret: (path) => path,
}

/** Every layer of the product that folds, outermost first. */
export const foldingLayers: readonly Layer[] = (layers as readonly Layer[]).filter(({ native, fold }) => native && fold)

/** A step of a layer, from settings of it. */
export function stepFrom(layer: Layer, config: unknown): Readonly<Record<string, unknown>> {
  return layer.fold?.(layer.config.parse(config), source) as Readonly<Record<string, unknown>>
}

/** A step under which a plain question passes; undefined where that needs a model and there is none. */
export function sampleStep(layer: Layer, model: string | undefined): Readonly<Record<string, unknown>> | undefined {
  const config = settings[layer.name]?.(model)
  return config === undefined ? undefined : stepFrom(layer, config)
}
