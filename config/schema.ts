import type { Layer } from '../plugins/layer.ts'
import { createSchema, type JsonSchema, type Schema } from '../plugins/schema.ts'
import { type AdminConfig, adminSchema } from './admin.ts'
import {
  type CompatibilityConfig,
  compatibilitySchema,
  type DirectivesConfig,
  directivesSection,
  type FoldingConfig,
  foldingSchema,
} from './folding.ts'
import { type ListenConfig, listenSchema } from './listen.ts'
import { type RunnerConfig, runnersSchema } from './runners.ts'
import * as sections from './sections.ts'
import { type StoreConfig, storeSchema } from './store.ts'

/** The whole configuration, with every default filled in. */
export interface GatewayConfig<Store = StoreConfig> {
  readonly listen: ListenConfig
  readonly admin: AdminConfig
  readonly headers: sections.HeadersConfig
  readonly access: sections.AccessConfig
  readonly store: Store
  readonly signing: sections.SigningConfig
  readonly runners: readonly RunnerConfig[]
  /** The section of each layer that is on, by name; a layer that is absent is off. */
  readonly layers: Readonly<Record<string, unknown>>
  readonly folding: FoldingConfig
  readonly directives: DirectivesConfig
  readonly compatibility: CompatibilityConfig
  readonly drain: sections.DrainConfig
  readonly telemetry: sections.TelemetryConfig
}

/** The schema of the whole configuration, and the layers that it was made for. */
export interface ConfigSchema extends Schema<GatewayConfig> {
  readonly layers: readonly Layer[]
}

/** The schema of the whole configuration for a list of layers. */
export function createConfigSchema(layers: readonly Layer[]): ConfigSchema {
  return { ...createSchema<GatewayConfig>(rootSchema(layers), { seldom: true }), layers }
}

/** The schema as it is published for editors and other tools: JSON Schema draft-07, `runners` required. */
export function gatewayJsonSchema(layers: readonly Layer[]): JsonSchema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Foldgate configuration',
    ...rootSchema(layers),
    required: ['runners'],
  }
}

function rootSchema(layers: readonly Layer[]): JsonSchema {
  const owned = layers.map((layer) => [
    layer.name,
    embedded(layer.config.json, `#/properties/layers/properties/${layer.name}`),
  ])
  const properties = {
    listen: listenSchema,
    admin: adminSchema,
    headers: sections.headersSchema,
    access: sections.accessSchema,
    store: { default: {}, ...embedded(storeSchema.json, '#/properties/store') },
    signing: sections.signingSchema,
    runners: runnersSchema,
    layers: {
      type: 'object',
      description: 'The layers that are on, each with its settings. Their order is fixed by the product.',
      default: {},
      properties: Object.fromEntries(owned),
      additionalProperties: false,
    },
    folding: foldingSchema(layers),
    directives: directivesSection,
    compatibility: compatibilitySchema,
    drain: sections.drainSchema,
    telemetry: sections.telemetrySchema,
  }
  return { type: 'object', properties, additionalProperties: false }
}

/** A schema as a part of another one: its own references point to where it now stands. */
function embedded(schema: JsonSchema, place: string): JsonSchema {
  const { $schema: _dialect, $id: _id, ...rest } = schema
  return moved(rest, place) as JsonSchema
}

function moved(value: unknown, place: string): unknown {
  if (Array.isArray(value)) return value.map((item) => moved(item, place))
  if (value === null || typeof value !== 'object') return value
  const members = Object.entries(value).map(([key, member]) => {
    const reference = key === '$ref' && typeof member === 'string' && member.startsWith('#')
    return [key, reference ? place + member.slice(1) : moved(member, place)]
  })
  return Object.fromEntries(members)
}
