import { movableLayers } from '../config/check-folding.ts'
import { createLiveConfig, type LiveConfig } from '../config/live.ts'
import type { LoadedConfig } from '../config/load.ts'
import type { GatewayConfig } from '../config/schema.ts'
import { readNamedFile, readSecretFile, resolveFrom } from '../config/secret-file.ts'
import { createStore } from '../config/store/index.ts'
import type { StoreConfig } from '../config/store.ts'
import type { Clock } from '../plugins/host.ts'
import { layers } from '../plugins/index.ts'
import { sayStage, stageNumber, weightOf } from '../plugins/stage.ts'
import { createTokenEstimator } from '../plugins/token-estimator.ts'
import { type ChangeRecord, startAdmin } from './admin/listener.ts'
import { createMemory } from './admin/stories.ts'
import { tokensFromConfig } from './admin/tokens.ts'
import { createConsumers } from './consumers.ts'
import { createDrain } from './drain.ts'
import { createFlights } from './flights.ts'
import { createStages } from './folding/stages.ts'
import { watchFor } from './folding/watch.ts'
import { createHttp } from './host.ts'
import { startHousekeeping } from './housekeeping.ts'
import { createOperations } from './operations.ts'
import { createPressureGauge } from './pressure.ts'
import type { Rooms } from './rooms.ts'
import { createDataServer, type TlsFiles } from './server.ts'
import { openSetup, type Setup } from './setup.ts'
import { accessLineFrom, type PastCall, pastCallFrom } from './stories.ts'
import { createLog, type GatewayLog, type LogOptions } from './telemetry/log.ts'
import { createMetrics } from './telemetry/metrics.ts'
import { createTracing } from './telemetry/tracing.ts'
import { commit, version } from './version.ts'

/** A running gateway. */
export interface Gateway {
  /** Where callers send their requests, and where people on call and probes look. */
  readonly url: string
  readonly adminUrl: string
  readonly setup: () => Setup
  readonly log: GatewayLog
  readonly live: LiveConfig
  /** Leaves politely: not ready, then no new calls, then an end to what is left; see `drain` in the configuration. */
  leave(by: string): Promise<void>
  /** Ends at once; calls under way are cut. */
  close(): Promise<void>
}

/** What a gateway is started with. */
export interface GatewayOptions {
  readonly loaded: LoadedConfig
  /** Reads the configuration again, for a reload. Throws `config_invalid`. */
  readonly load: () => LoadedConfig
  readonly clock?: Clock
  /** Where log lines go; default standard output. */
  readonly logTo?: LogOptions['destination']
}

// Levels at which no call is logged: its line is not even made.
const quiet: ReadonlySet<string> = new Set(['warn', 'error', 'fatal', 'silent'])

type Config = GatewayConfig<StoreConfig>

/** Starts a gateway: store, telemetry, layers, the two listeners. Throws `config_invalid`, or what keeps a port from opening. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const equipment = await equip(options)
  const { log, flights, stories, metrics } = equipment
  const configured = await openConfigured(options, equipment)
  const { setup, live } = configured
  const drain = createDrain(() => setup().config.drain, flights)
  const rooms: Rooms = {
    ...equipment,
    setup,
    draining: () => drain.begun,
    noteFeedback: ({ id, score }) => noteFeedback(equipment, id, score),
    remember(caller, record, ended) {
      const past = pastCallFrom(caller, record, ended)
      stories.remember(past)
      if (!quiet.has(log.level)) log.access(accessLineFrom(past, caller.request.method ?? 'GET'), record.span)
    },
  }
  const { config } = configured.setup()
  const server = createDataServer(rooms, config, tlsFiles(config, configured.file))
  await server.listen()
  const operations = createOperations({
    setup,
    live,
    stages: configured.stages,
    drain,
    flights,
    stories,
    consumers: equipment.consumers,
    metrics,
    log,
    startedAt: Date.now(),
  })
  const rules = () => ({
    tokens: tokensFromConfig(setup().config.admin, live.current.base),
    allowedHosts: setup().config.admin.allowedHosts,
  })
  const changed = ({ actor, path, reason, status }: ChangeRecord): void =>
    log.info({ actor: actor.name, path, reason, status }, 'change asked for at the admin port')
  const admin = await startAdmin({ ...config.admin, rules, operations, changed })
  const housekeeping = startHousekeeping(flights)
  const close = once(async (deadline: AbortSignal) => {
    housekeeping.close()
    flights.cutWhen(deadline)
    await server.close(deadline)
    await setup().retire()
    await admin.close()
    await equipment.close()
  })
  return {
    url: server.url(),
    adminUrl: admin.url,
    setup,
    log,
    live,
    async leave(by) {
      log.info({ by }, 'leaving')
      drain.begin()
      await drain.delayed(drain.deadline)
      await close(drain.deadline)
    },
    close: () => close(AbortSignal.abort()),
  }
}

/** What outlives every configuration. */
async function equip({ loaded, clock = { now: Date.now }, logTo }: GatewayOptions) {
  const config = loaded.config as Config
  const metrics = createMetrics({ version, commit, layers: layers.map(({ name }) => name) })
  const log = createLog({
    level: config.telemetry.logLevel,
    onDropped: (lines) => metrics.dropped('logs', lines),
    ...(logTo === undefined ? {} : { destination: logTo }),
  })
  const tracing = await createTracing(config.telemetry, {
    version,
    onDropped: (spans) => metrics.dropped('traces', spans),
  })
  const store = await createStore(config.store, clock, log)
  metrics.storeUp(() => store.up())
  const http = createHttp()
  const pressure = createPressureGauge()
  return {
    clock,
    metrics,
    log,
    tracing,
    store,
    http,
    flights: createFlights(),
    stories: createMemory<PastCall>(),
    consumers: createConsumers(),
    pressure,
    async close() {
      pressure.close()
      await Promise.all([store.close(), http.close(), tracing.close()])
      await log.flush()
    },
  }
}

type Equipment = Awaited<ReturnType<typeof equip>>

/** The configuration in use, opened, and the way to the next one: all or nothing. */
async function openConfigured({ loaded, load }: GatewayOptions, equipment: Equipment) {
  const { metrics, log } = equipment
  let base = loaded.base
  const file = (path: string): Buffer => readNamedFile(resolveFrom(base, path))
  const secretFile = (path: string): Buffer => readSecretFile(resolveFrom(base, path))
  const tokens = createTokenEstimator({ exact: (call, signal) => setup.runners.tokenize(call, signal) })
  const stages = createStages(equipment.clock, (change) => {
    const { layer, from, to, actor, reason } = change
    log.info({ layer, from: sayStage(from), to: sayStage(to), actor, reason }, 'layer moved')
    metrics.layerStage(layer, stageNumber(to, stages.steps), weightOf(to))
  })
  const stand = (config: Config): void => {
    stages.configure({
      layers: movableLayers(config, layers),
      stages: config.folding.stages,
      steps: config.folding.policy.stages,
    })
  }
  const lasting = {
    ...equipment,
    tokens,
    count: metrics.count,
    file,
    secretFile,
    stages,
    watch: watchFor(metrics, log),
  }
  stand(loaded.config as Config)
  let setup = await openSetup(loaded.config as Config, lasting)
  metrics.runnersAvailable(() => setup.board.names.map((name) => [name, setup.board.state(name).available] as const))
  metrics.reload(true)
  const live = createLiveConfig(loaded, {
    load,
    async apply(next) {
      const before = base
      base = next.base
      try {
        const opened = await openSetup(next.config as Config, lasting)
        try {
          stand(next.config as Config)
        } catch (fault) {
          await opened.retire()
          throw fault
        }
        void setup.retire()
        setup = opened
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
  return { setup: () => setup, live, file, stages }
}

function tlsFiles({ listen: { tls } }: Config, file: (path: string) => Buffer): TlsFiles | undefined {
  if (!tls) return undefined
  return { cert: file(tls.certFile), key: file(tls.keyFile), ...(tls.caFile ? { ca: file(tls.caFile) } : {}) }
}

function noteFeedback({ stories, log }: Equipment, id: string, score: number): boolean {
  const past = stories.find(id)
  if (!past) return false
  past.feedback = score
  log.info({ id: past.id, score }, 'feedback')
  return true
}

function once<Argument>(action: (argument: Argument) => Promise<void>): (argument: Argument) => Promise<void> {
  let running: Promise<void> | undefined
  return (argument) => {
    running ??= action(argument)
    return running
  }
}
