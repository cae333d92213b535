import type { Layer } from '../plugins/layer.ts'
import type { JsonSchema } from '../plugins/schema.ts'
import { oneOf, section } from './field.ts'

/** Where a layer starts. In this version every layer runs in the gateway. */
export type ConfiguredStage = 'gateway'

/** Where each layer starts; a layer that is not named starts in the gateway. */
export interface FoldingConfig {
  readonly stages: Readonly<Record<string, ConfiguredStage>>
}

/** Stages that a later version knows; naming one is a fault of its own rather than a wrong word. */
export const laterStages: readonly string[] = ['shadow', 'canary', 'native']

/** Keys of the configuration that a later version knows, as dotted paths. */
export const laterKeys: readonly string[] = [
  'folding.policy',
  'folding.shadow',
  'folding.peers',
  'folding.panicFile',
  'folding.kubernetes',
  'directives',
  'compatibility',
  'telemetry.traceStore',
]

/** The `folding` section for a list of layers. */
export function foldingSchema(layers: readonly Layer[]): JsonSchema {
  const stages = layers.map((layer) => [
    layer.name,
    oneOf(`Where ${layer.name} starts. This version knows gateway only.`, ['gateway'], 'gateway'),
  ])
  return section('Where each layer runs. Moving layers (policy, shadow, peers, …) is not available in this version.', {
    stages: section('Where each layer starts.', Object.fromEntries(stages)),
  })
}
