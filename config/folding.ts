import type { Layer } from '../plugins/layer.ts'
import type { JsonSchema } from '../plugins/schema.ts'
import type { Stage } from '../plugins/stage.ts'
import { integer, oneOf, optionalText, section } from './field.ts'
import { type KubernetesConfig, kubernetesSchema, type NotifyConfig, notifySchema, panicFileSchema } from './outside.ts'
import { type ShadowConfig, shadowSchema } from './shadow.ts'

/** A stage that a layer may start in. */
export type ConfiguredStage = Exclude<Stage, 'rolled-back'>

/** Where each layer starts, and in which shares it moves. */
export interface FoldingConfig {
  /** A layer that is not named starts in the gateway. */
  readonly stages: Readonly<Record<string, ConfiguredStage>>
  readonly policy: {
    /** Shares of a canary in percent, rising; the last is 100. */
    readonly stages: readonly number[]
    /** Tiers in the order in which they move, the last one last. */
    readonly tiers: readonly string[]
    /** Layers that are in shadow or canary go on by themselves when every gate is met. Rollbacks are always by themselves. */
    readonly autopilot: boolean
    /** Tenants whose calls are never in a canary: the gateway decides for them until a layer is native. */
    readonly neverCanary: readonly string[]
  }
  readonly shadow: ShadowConfig
  /** Other replicas, where there is no Redis: `host` or `host:port` each, or one name with the addresses of all. */
  readonly peers: readonly string[]
  /** Where this replica keeps the stages over a restart, where there is no Redis; null: nowhere. */
  readonly stateFile: string | null
  /** While this file exists, every layer is back in the gateway; null: no file is looked for. */
  readonly panicFile: string | null
  readonly kubernetes: KubernetesConfig
  readonly notify: readonly NotifyConfig[]
}

/** What clients may ask in the body member `execution_context`. */
export interface DirectivesConfig {
  readonly enabled: boolean
  /** What becomes of a call whose directives are wrong: it is served by the operator's rules alone, or refused with 400. */
  readonly onInvalid: 'fallback' | 'reject'
  /** Callers may bring a template of their own, as system text after the operator's. */
  readonly inlineTemplate: boolean
}

/** What old clients may still have. */
export interface CompatibilityConfig {
  readonly deprecatedLayers: {
    /** The day, `YYYY-MM-DD`, from which on the old per-layer headers are on their way out; null: they are not. */
    readonly since: string | null
    /** Days from then until they are gone. */
    readonly days: number
  }
}

/** The `folding` section for a list of layers. */
export function foldingSchema(layers: readonly Layer[]): JsonSchema {
  const stages = layers.map((layer) => [
    layer.name,
    oneOf(`Where ${layer.name} starts.`, ['gateway', 'shadow', 'canary', 'native'], 'gateway'),
  ])
  return section('Where each layer runs. Commands and the admin port move layers from there.', {
    stages: section(
      'Where each layer starts. A reload moves a layer only if its own entry has changed.',
      Object.fromEntries(stages),
    ),
    policy: section('How a layer moves.', {
      stages: {
        type: 'array',
        description: 'Shares of a canary in percent, rising; the last must be 100.',
        default: [1, 10, 50, 100],
        minItems: 1,
        maxItems: 4,
        items: { type: 'integer', minimum: 1, maximum: 100 },
      },
      tiers: {
        type: 'array',
        description:
          'Tiers of callers in the order in which they move: internal at once, the last one last. A tier that is not named moves with the last.',
        default: ['internal', 'free', 'standard', 'pro', 'vip'],
        maxItems: 32,
        items: { type: 'string', minLength: 1, maxLength: 64 },
      },
      autopilot: {
        type: 'boolean',
        description:
          'Layers in shadow or canary go on by themselves when every gate is met; otherwise a person promotes. Rollbacks are always by themselves.',
        default: false,
      },
      neverCanary: {
        type: 'array',
        description: 'Tenants whose calls are never in a canary: the gateway decides for them until a layer is native.',
        default: [],
        maxItems: 1_024,
        items: { type: 'string', minLength: 1, maxLength: 256 },
      },
    }),
    shadow: shadowSchema,
    peers: {
      type: 'array',
      description:
        'Other replicas where there is no Redis: host or host:port each, or one name with the addresses of all.',
      default: [],
      maxItems: 64,
      items: { type: 'string', minLength: 1, maxLength: 253 },
    },
    stateFile: {
      ...optionalText(
        'File in which this replica keeps the stages over a restart, where there is no Redis; null: nowhere.',
      ),
      default: '.foldgate/stages.json',
    },
    panicFile: panicFileSchema,
    kubernetes: kubernetesSchema,
    notify: notifySchema,
  })
}

/** The `directives` section. */
export const directivesSection: JsonSchema = section(
  'What clients may ask in the body member execution_context. Directives only ever tighten.',
  {
    enabled: { type: 'boolean', description: 'Read them; otherwise the member is left alone.', default: true },
    onInvalid: oneOf(
      'A call whose directives are wrong is served by the operator’s rules alone (fallback), or refused with 400 (reject).',
      ['fallback', 'reject'],
      'fallback',
    ),
    inlineTemplate: {
      type: 'boolean',
      description: 'Callers may bring a template of their own: system text of theirs, after the operator’s.',
      default: false,
    },
  },
)

/** The `compatibility` section. */
export const compatibilitySchema: JsonSchema = section('What old clients may still have.', {
  deprecatedLayers: section('The old headers, one a layer, that some clients still ask for.', {
    since: {
      ...optionalText('Day (YYYY-MM-DD) from which on they are on their way out; null: they are not.'),
      pattern: '^\\d{4}-\\d{2}-\\d{2}$',
    },
    days: integer('Days from then until they are gone.', 90, { minimum: 1, maximum: 3_650 }),
  }),
})
