import { canonicalDigest } from './canonical.ts'
import { hexDigestPattern, maxContextBytes } from './execution-context.ts'
import { layerNamePattern } from './execution-context-facts.ts'
import { versionSchema } from './policy.ts'
import { createSchema, type JsonSchema, sayFault } from './schema.ts'

/** What a runner can do of one layer. */
export interface LayerCapability {
  /** The version of the layer's steps that it executes. */
  readonly version: number
  /** What limits count. */
  readonly unit?: 'model-tokens' | 'estimated-tokens'
  /** The part of JSON Schema that holds during generation. */
  readonly schema?: { readonly profile: string; readonly keywords: readonly string[] }
  /** How phrases are compared, and how many at most. */
  readonly phrases?: { readonly semantics: string; readonly max: number }
}

/** What a runner says it can do. It is tested, not believed. */
export interface Capabilities {
  /** Versions of the protocol. */
  readonly versions: readonly number[]
  /** Name and version of the runner, such as `foldgate-native/0.1.0`. */
  readonly runner: string
  /** Drawn anew whenever the process starts; the audience of contexts. */
  readonly boot: string
  /** {@link capabilitiesDigest} of this document. */
  readonly caps: string
  /** Whether counters and cache are its own or in a store shared with its siblings. */
  readonly state: 'local' | 'shared'
  readonly placement: 'in-engine' | 'beside-engine'
  readonly engine: { readonly name: string; readonly version: string }
  /** The kids it verifies. */
  readonly keys: readonly string[]
  /** Largest context it takes, in bytes; at most 4,096. */
  readonly maxContextBytes: number
  readonly layers: Readonly<Record<string, LayerCapability>>
  readonly models: readonly { readonly id: string; readonly contextTokens: number }[]
  readonly load: {
    readonly running: number
    readonly queued: number
    readonly free: number
    /** 0 to 1; absent where the engine does not say. */
    readonly kvCacheHitRate?: number
  }
}

const text = (maxLength: number): JsonSchema => ({ type: 'string', minLength: 1, maxLength })
const count: JsonSchema = { type: 'integer', minimum: 0 }
const strict = (properties: Record<string, JsonSchema>, optional: readonly string[] = []): JsonSchema => ({
  type: 'object',
  additionalProperties: false,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  properties,
})

const layer = strict(
  {
    version: versionSchema,
    unit: { enum: ['model-tokens', 'estimated-tokens'] },
    schema: strict({ profile: text(64), keywords: { type: 'array', maxItems: 128, items: text(64) } }),
    phrases: strict({ semantics: text(64), max: count }),
  },
  ['unit', 'schema', 'phrases'],
)

/** The capabilities as published and as checked. */
export const capabilitiesSchema: JsonSchema = {
  title: 'Capabilities',
  description: 'Answer to GET /.well-known/execution-context.',
  ...strict({
    versions: { type: 'array', minItems: 1, maxItems: 16, items: versionSchema },
    runner: text(128),
    boot: { type: 'string', pattern: '^[A-Za-z0-9._:-]{1,64}$' },
    caps: { type: 'string', pattern: hexDigestPattern, description: 'SHA-256 of the rest, less boot and load.' },
    state: { enum: ['local', 'shared'] },
    placement: { enum: ['in-engine', 'beside-engine'] },
    engine: strict({ name: text(128), version: text(128) }),
    keys: { type: 'array', maxItems: 64, items: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$' } },
    maxContextBytes: { type: 'integer', minimum: 1_024, maximum: maxContextBytes },
    layers: {
      type: 'object',
      maxProperties: 16,
      propertyNames: { pattern: layerNamePattern },
      additionalProperties: layer,
    },
    models: { type: 'array', maxItems: 256, items: strict({ id: text(512), contextTokens: count }) },
    load: strict(
      { running: count, queued: count, free: count, kvCacheHitRate: { type: 'number', minimum: 0, maximum: 1 } },
      ['kvCacheHitRate'],
    ),
  }),
}
const documents = createSchema<Capabilities>(capabilitiesSchema)

/**
 * The digest that `caps` is: SHA-256 of the canonical form (RFC 8785) of the document less `boot`, `caps` and `load`, so that it changes
 * exactly when what the runner can do changes. Lower-case hex.
 */
export function capabilitiesDigest(capabilities: Omit<Capabilities, 'caps'>): string {
  return canonicalDigest({ ...capabilities, boot: undefined, caps: undefined, load: undefined })
}

/** Capabilities with their digest. */
export function withDigest(capabilities: Omit<Capabilities, 'caps'>): Capabilities {
  return { ...capabilities, caps: capabilitiesDigest(capabilities) }
}

/** What is wrong with a document of capabilities, in words: its shape or its digest; undefined when nothing is. */
export function capabilitiesFault(value: unknown): string | undefined {
  const [fault] = documents.faults(value)
  if (fault) return sayFault(fault)
  const capabilities = value as Capabilities
  return capabilities.caps === capabilitiesDigest(capabilities) ? undefined : 'caps: is not the digest of the document'
}

/** The version of each layer's steps that a runner executes: what a context's layers are held against. */
export function layerVersions({ layers }: Pick<Capabilities, 'layers'>): ReadonlyMap<string, number> {
  return new Map(Object.entries(layers).map(([name, { version }]) => [name, version]))
}
