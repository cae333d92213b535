import { movableLayers } from '../config/check-folding.ts'
import { createLiveConfig, type LiveConfig } from '../config/live.ts'
import type { LoadedConfig } from '../config/load.ts'
import type { GatewayConfig } from '../config/schema.ts'
import { readNamedFile, readSecretFile, resolveFrom } from '../config/secret-file.ts'
import type { StoreConfig } from '../config/store.ts'
import { canonicalDigest } from '../plugins/canonical.ts'
import type { Clock } from '../plugins/host.ts'
import { layers } from '../plugins/index.ts'
import { isMoving, sayStage, stageNumber, weightOf } from '../plugins/stage.ts'
import { createTokenEstimator } from '../plugins/token-estimator.ts'
import type { Collector } from './folding/collect/collector.ts'
import { createDraws } from './folding/draws.ts'
import { type OpenedState, openState } from './folding/open-stages.ts'
import { createDriftWatch, type DriftWatch } from './folding/rollout/drift.ts'
import { createEjections, type Ejections } from './folding/rollout/ejections.ts'
import { createStages, type StageChange, type Stages } from './folding/stages.ts'
import type { Replica } from './folding/state/replica.ts'
import { isOn } from './folding/state/switches.ts'
import { watchFor } from './folding/watch.ts'
import type { Outside } from './outside/outside.ts'
import { type Lasting, openSetup, type Setup } from './setup.ts'
import type { GatewayLog } from './telemetry/log.ts'
import type { Metrics } from './telemetry/metrics.ts'

type Config = GatewayConfig<StoreConfig>

/** The configuration in use, opened, and the way to the next one. */
export interface Configured {
  readonly setup: () => Setup
  readonly live: LiveConfig
  readonly stages: Stages
  readonly ejections: Ejections
  /** What changes at runners while a layer moves. */
  readonly drift: DriftWatch
  readonly opened: OpenedState
  /** A file named in the configuration, relative to it. */
  file(path: string): Buffer
}

/** What outlives every configuration, and how configurations are read. */
export interface ConfiguredParts extends Pick<Lasting, 'clock' | 'store' | 'http'> {
  readonly clock: Clock
  readonly metrics: Metrics
  readonly log: GatewayLog
  readonly loaded: LoadedConfig
  readonly load: () => LoadedConfig
  /** This run of this replica, and what counts here what decisions rest on. */
  readonly replica: Replica
  readonly collector: Collector
  readonly outside: Outside
  /** Hears of every layer that moved. */
  moved(change: StageChange): void
}

/** Opens the first configuration and keeps it current: all of the next one, or nothing of it. Throws `config_invalid`. */
export async function openConfigured(parts: ConfiguredParts): Promise<Configured> {
  const { loaded, load, metrics, log, outside } = parts
  let base = loaded.base
  const file = (path: string): Buffer => readNamedFile(resolveFrom(base, path))
  const secretFile = (path: string): Buffer => readSecretFile(resolveFrom(base, path))
  const tokens = createTokenEstimator({ exact: (call, signal) => setup.runners.tokenize(call, signal) })
  const first = loaded.config as Config
  const opened = await openState({ ...parts, config: first, resolve: (path) => resolveFrom(base, path), secretFile })
  const begin = await outside.prepare(first, base)
  begin()
  let current = first
  const stages = createStages({
    state: opened.state,
    clock: parts.clock,
    artifactOf: (layer) => canonicalDigest(current.layers[layer] ?? null),
    changed(change) {
      const { layer, from, to, actor, reason } = change
      log.info({ layer, from: sayStage(from), to: sayStage(to), actor, reason }, 'layer moved')
      metrics.layerStage(layer, stageNumber(to, stages.plan.steps), weightOf(to))
      const trip = to.stage === 'rolled-back' && opened.state.known.tripped[stages.stateOf(layer).rolloutId]
      // What was taken back before this process began took it no time.
      if (trip && from.stage !== 'gateway')
        metrics.rollbackTook(layer, Math.max(0, parts.clock.now() - trip.at) / 1_000)
      parts.moved(change)
      outside.moved(change)
    },
    blocked: () => outside.panicking,
    unconfirmed: outside.unconfirmed,
  })
  metrics.switches(() => ({
    frozen: isOn(opened.state.known, 'freeze'),
    unstreamed: isOn(opened.state.known, 'no-stream'),
  }))
  const stand = async (config: Config): Promise<void> => {
    const { stages: configured, policy } = config.folding
    const plan = { steps: policy.stages, tiers: policy.tiers }
    await stages.configure({ layers: movableLayers(config, layers), stages: configured, ...plan })
    current = config
  }
  const ejections = createEjections(parts.replica.id)
  const drift = createDriftWatch({
    rollout: () => layers.map(({ name }) => stages.stateOf(name)).find(isMoving)?.rolloutId || undefined,
    found: ({ runner, what, words }, rollout) => log.warn({ runner, what, words, rollout }, 'a runner has changed'),
  })
  const watch = { ...watchFor(metrics, log), met: drift.met }
  watch.shadow.comparing.listen(({ comparison, as, rollout }) => {
    if (rollout !== undefined) parts.collector.compared(rollout, comparison, as)
  })
  watch.shadow.listenPairs(({ rollout, outcome }) => {
    if (rollout !== undefined) parts.collector.paired(rollout, outcome)
  })
  const lasting = {
    ...parts,
    tokens,
    count: metrics.count,
    file,
    secretFile,
    stages,
    draws: createDraws(parts.collector, stages),
    ejections,
    watch,
  }
  await stand(first)
  let setup = await openSetup(first, lasting)
  metrics.runnersAvailable(() => setup.board.names.map((name) => [name, setup.board.state(name).available] as const))
  metrics.reload(true)
  const live = createLiveConfig(loaded, {
    load,
    async apply(next) {
      const before = base
      base = next.base
      try {
        const heed = await outside.prepare(next.config as Config, base)
        const fresh = await openSetup(next.config as Config, lasting)
        try {
          await stand(next.config as Config)
        } catch (fault) {
          await fresh.retire()
          throw fault
        }
        void setup.retire()
        setup = fresh
        heed()
      } catch (fault) {
        base = before
        throw fault
      }
    },
    heard({ ok, by, faults }) {
      metrics.reload(ok)
      if (ok) log.info({ by }, 'configuration read again')
      else log.error({ by, faults }, 'configuration refused; the one before it stays in use')
    },
  })
  return { setup: () => setup, live, file, stages, ejections, drift, opened }
}
