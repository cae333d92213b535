import type { GatewayConfig } from '../config/schema.ts'
import type { StoreConfig } from '../config/store.ts'
import { gatewayError, gatewayErrorFrom } from '../plugins/errors.ts'
import { type HeaderNames, headerNames } from '../plugins/headers.ts'
import type { Clock, Count, Host, Http, Log } from '../plugins/host.ts'
import { layers } from '../plugins/index.ts'
import { createInsideDigest } from '../plugins/inside-digest.ts'
import type { Acting, Layer } from '../plugins/layer.ts'
import { joinPath } from '../plugins/schema.ts'
import type { Store } from '../plugins/store.ts'
import type { TokenCounter } from '../plugins/tokens.ts'
import { createTrustedProxies, type TrustedProxies } from './client-address.ts'
import type { Draw } from './folding/call-fold.ts'
import { createIgnores } from './folding/diff/ignore-rules.ts'
import type { DrawnFrom } from './folding/draws.ts'
import { type FoldingParts, type OpenedFolding, openFolding } from './folding/open.ts'
import type { Ejections } from './folding/rollout/ejections.ts'
import type { Stages } from './folding/stages.ts'
import { createStatusBook, type StatusBook } from './layer-status.ts'
import { type Legacy, openLegacy } from './legacy/legacy.ts'
import { openQuality, type Quality } from './quality.ts'
import { type Board, createBoard } from './runner-board.ts'
import { createRunnerClient } from './runner-client.ts'
import { type RunnerSettings, runnerSettings } from './runner-settings.ts'
import { createSecrets } from './secrets.ts'
import type { Service } from './serve.ts'
import { openTightening, type Tightening } from './tightening.ts'

/** What outlives a configuration: state that a reload must not reset. */
export interface Lasting {
  readonly clock: Clock
  readonly store: Store
  readonly http: Http
  readonly tokens: TokenCounter
  readonly log: Log
  count(what: Count, by?: number): void
  /** A file named in the configuration, relative to it. Throws `config_invalid`. */
  file(path: string): Buffer
  /** A secret file, without its trailing newline. Throws `config_invalid`. */
  secretFile(path: string): Buffer
  /** Where every layer is now. */
  readonly stages: Stages
  /** Notes to which arm of a rollout a call belongs. */
  draws(record: DrawnFrom): Draw
  /** Places that were taken out of a canary. */
  readonly ejections: Ejections
  readonly watch: FoldingParts['watch']
}

/** One configuration, opened: the layers that sit, the way to the runners, and how many calls are still using it. */
export interface Setup extends Service {
  readonly config: GatewayConfig<StoreConfig>
  readonly names: HeaderNames
  readonly host: Host
  readonly board: Board
  readonly runnerSettings: readonly RunnerSettings[]
  readonly proxies: TrustedProxies
  readonly acting: ReadonlyMap<string, Acting>
  readonly statusBook: StatusBook
  readonly folding: OpenedFolding
  /** The chain that serves in our place, with our layers beside it; undefined: we serve. */
  readonly legacy: Legacy | undefined
  readonly tightening: Tightening
  /** Scores answers of rollouts; undefined where no scorer is configured. */
  readonly quality: Quality | undefined
  /** A call begins, or has ended, under this configuration. */
  use(): void
  leave(): void
  /** No call will begin any more: closes once the last one has left. */
  retire(): Promise<void>
}

const all: readonly Layer[] = layers

/** Opens a configuration. Throws `config_invalid` for what only a layer can find wrong; nothing stays open then. */
export async function openSetup(config: GatewayConfig<StoreConfig>, lasting: Lasting): Promise<Setup> {
  const closing = new AbortController()
  const runners = runnerSettings(config.runners, lasting)
  const board = createBoard(
    runners.map(({ name }) => name),
    {
      clock: lasting.clock,
      policies: new Map(
        config.runners.map(({ name, ejectAfter, ejectMs }) => [name, { after: ejectAfter, forMs: ejectMs }]),
      ),
      onEject: () => lasting.count('routing.ejected'),
    },
  )
  const names = headerNames(config.headers.prefix)
  const processes: { folding?: OpenedFolding } = {}
  const client = createRunnerClient({
    runners,
    retry: retryOf(config),
    board,
    names,
    instances: {
      of: (name) => processes.folding?.instances?.of(name) ?? [],
      pick: (name) => processes.folding?.instances?.pick(name),
    },
  })
  const proxies = createTrustedProxies(config.listen.trustedProxies)
  const acting = new Map<string, Acting>()
  const host: Host = {
    side: 'gateway',
    clock: lasting.clock,
    store: lasting.store,
    http: lasting.http,
    tokens: lasting.tokens,
    log: lasting.log,
    count: lasting.count,
    file: lasting.file,
    runners: { names: board.names, state: board.state, ask: client.ask },
    declared: new Set(declaredNames(config)),
    conversationHeader: names.conversationId,
    models: configuredModels(config),
    trusts: proxies.trusts,
    secret: createSecrets(config.signing, lasting.secretFile),
    closed: closing.signal,
    insideDigest: createInsideDigest(all, acting),
  }
  await openLayers(config, host, acting)
  const { stages, watch, secretFile, ejections } = lasting
  const folding = openFolding({
    config,
    names,
    host,
    layers: all,
    acting,
    runners,
    stages,
    secretFile,
    watch,
    ejections,
  })
  processes.folding = folding
  const legacy = legacyOf(config, acting, lasting)
  const tightening = openTightening(config, acting, { layers: all, host })
  const users = createUsers(async () => {
    closing.abort()
    await folding.close()
    await Promise.all([...acting.values()].map((each) => each.close?.()))
    await Promise.all([client.close(), legacy?.close()])
  })
  return {
    config,
    names,
    host,
    board,
    proxies,
    acting,
    runners: client,
    runnerSettings: runners,
    seating: folding.seating,
    folds: folding.folds,
    drawn: lasting.draws,
    folding,
    legacy,
    tightening,
    quality: openQuality(config, host),
    statusBook: createStatusBook(
      all.map(({ name }) => name),
      config.headers.layerStatus,
    ),
    ...users,
  }
}

/** Opens the layers that are on. When one cannot be opened, those before it are closed again. */
async function openLayers(config: GatewayConfig, host: Host, acting: Map<string, Acting>): Promise<void> {
  try {
    for (const layer of layers as readonly Layer[]) {
      const section = config.layers[layer.name]
      if (section !== undefined) acting.set(layer.name, await openLayer(layer, section, host))
    }
  } catch (fault) {
    await Promise.allSettled([...acting.values()].map((each) => each.close?.()))
    throw fault
  }
}

/** What a layer finds wrong, with the layer's place in front. */
async function openLayer(layer: Layer, section: unknown, host: Host): Promise<Acting> {
  try {
    return await layer.open(section, host)
  } catch (reason) {
    const error = gatewayErrorFrom(reason)
    const own = error.detail.faults ?? [{ path: error.detail.field ?? '', message: error.message }]
    const faults = own.map((fault) => ({ ...fault, path: joinPath(`layers.${layer.name}`, fault.path) }))
    throw gatewayError('config_invalid', `layers.${layer.name}: ${error.message}`, { faults, cause: reason })
  }
}

function legacyOf(
  { folding: { shadow } }: GatewayConfig,
  acting: ReadonlyMap<string, Acting>,
  { clock, file, secretFile, watch }: Lasting,
): Legacy | undefined {
  if (!shadow.legacy) return undefined
  const agreement = watch.shadow.agreement(clock.now())
  watch.shadow.comparing.heed(createIgnores(shadow.ignore))
  const dropped = (): void => watch.shadow.dropped('queue-full')
  return openLegacy(shadow.legacy, { layers: all, acting, agreement, dropped, file, secretFile })
}

function retryOf({ runners }: GatewayConfig) {
  return {
    maxAttempts: Math.max(1, ...runners.map((runner) => runner.maxAttempts)),
    retryBudgetRatio: Math.max(0, ...runners.map((runner) => runner.retryBudgetRatio)),
  }
}

/** Names that layers put into facts: paths that begin with one never read the body. */
function declaredNames({ layers: sections }: GatewayConfig): readonly string[] {
  return all.flatMap((layer) =>
    sections[layer.name] === undefined ? [] : (layer.declares?.(sections[layer.name]) ?? []),
  )
}

/** The model names that callers may use, where routing says; empty: whatever the runners serve. */
function configuredModels({ layers: sections }: GatewayConfig): readonly string[] {
  const routing = sections['routing'] as RoutedModels | undefined
  const named = (routing?.targets ?? []).flatMap(({ model, aliases = [] }) => [model, ...aliases])
  return [...new Set([...named, ...(routing?.default ? [routing.default] : [])])]
}

interface RoutedModels {
  readonly default?: string | null
  readonly targets?: readonly { readonly model: string; readonly aliases?: readonly string[] }[]
}

function createUsers(close: () => Promise<void>): Pick<Setup, 'use' | 'leave' | 'retire'> {
  let users = 0
  let retired: { readonly done: () => void; readonly all: Promise<void> } | undefined
  return {
    use() {
      users++
    },
    leave() {
      users--
      if (users === 0) retired?.done()
    },
    async retire() {
      const { promise, resolve } = Promise.withResolvers<void>()
      retired ??= { done: resolve, all: promise.then(close) }
      if (users === 0) retired.done()
      await retired.all
    },
  }
}
