import { randomBytes } from 'node:crypto'
import { type Capabilities, type LayerCapability, withDigest } from '../plugins/capabilities.ts'
import { maxContextBytes } from '../plugins/execution-context.ts'
import type { Layer } from '../plugins/layer.ts'
import type { Engine, ModelCard } from './engine.ts'
import { version } from './version.ts'

/** What a document of capabilities is made from. */
export interface CapabilityParts {
  readonly engine: Engine
  readonly cards: readonly ModelCard[]
  readonly layers: readonly Layer[]
  readonly kids: readonly string[]
  readonly boot: string
  readonly state: Capabilities['state']
  /** Cached share of all prompt tokens, 0 to 1; absent before the first. */
  readonly kvCacheHitRate?: number
}

/** What is offered of a layer beside its version. */
const offers: Readonly<Record<string, Omit<LayerCapability, 'version'>>> = {
  'rate-limit': { unit: 'model-tokens' },
}

const engineNames: Readonly<Record<Engine['name'], string>> = { llama: 'llama.cpp', openai: 'openai', echo: 'echo' }

/** The id of one start of a process: 128 random bits. */
export function drawBoot(): string {
  return `b_${randomBytes(16).toString('hex')}`
}

/** What this runner says it can do. */
export function capabilitiesFrom(parts: CapabilityParts): Capabilities {
  const { engine, cards, layers, kids, boot, state, kvCacheHitRate } = parts
  const { running, queued, free } = engine.load()
  const executed = layers.flatMap(({ name, native }) =>
    native ? [[name, { version: native.version, ...offers[name] }] as const] : [],
  )
  return withDigest({
    versions: [1],
    runner: `foldgate-native/${version}`,
    boot,
    state,
    placement: engine.name === 'openai' ? 'beside-engine' : 'in-engine',
    engine: {
      name: engineNames[engine.name],
      version: engine.version?.() || (engine.name === 'echo' ? version : 'unknown'),
    },
    keys: kids,
    maxContextBytes,
    layers: Object.fromEntries(executed),
    models: cards.slice(0, 256).map(({ id, contextTokens = 0 }) => ({ id, contextTokens })),
    load: { running, queued, free, ...(kvCacheHitRate === undefined ? {} : { kvCacheHitRate }) },
  })
}
