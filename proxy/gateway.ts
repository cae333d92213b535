import { hostname } from 'node:os'
import type { LiveConfig } from '../config/live.ts'
import type { LoadedConfig } from '../config/load.ts'
import type { GatewayConfig } from '../config/schema.ts'
import { createStore } from '../config/store/index.ts'
import type { StoreConfig } from '../config/store.ts'
import type { Clock } from '../plugins/host.ts'
import { layers } from '../plugins/index.ts'
import { type ChangeRecord, startAdmin } from './admin/listener.ts'
import { createMemory } from './admin/stories.ts'
import { tokensFromConfig } from './admin/tokens.ts'
import { openConfigured } from './configured.ts'
import { createConsumers } from './consumers.ts'
import { createDrain } from './drain.ts'
import { createFlights } from './flights.ts'
import { createCollector } from './folding/collect/collector.ts'
import { later } from './folding/later.ts'
import type { StageConstants } from './folding/rollout/stage-constants.ts'
import type { StageChange, Stages } from './folding/stages.ts'
import { createReplica } from './folding/state/replica.ts'
import { isOn } from './folding/state/switches.ts'
import { createHttp } from './host.ts'
import { startHousekeeping } from './housekeeping.ts'
import { createLeaving, type Leaving } from './leaving.ts'
import { createOperations } from './operations.ts'
import { createOpinions } from './opinions.ts'
import { createOutside } from './outside/outside.ts'
import { createPressureGauge } from './pressure.ts'
import { startRolloutController } from './rollout-controller.ts'
import { createRolloutOperations } from './rollout-operations.ts'
import type { Rooms } from './rooms.ts'
import { createDataServer, type TlsFiles } from './server.ts'
import type { Setup } from './setup.ts'
import { accessLineFrom, type PastCall, pastCallFrom, seenCallFrom } from './stories.ts'
import { createLog, type GatewayLog, type LogOptions } from './telemetry/log.ts'
import { createMetrics } from './telemetry/metrics.ts'
import { noteMove } from './telemetry/move-span.ts'
import { createRecent, remembering } from './telemetry/recent.ts'
import { createTracing } from './telemetry/tracing.ts'
import { commit, version } from './version.ts'

/** A running gateway. */
export interface Gateway extends Leaving {
  /** Where callers send their requests, and where people on call and probes look. */
  readonly url: string
  readonly adminUrl: string
  readonly setup: () => Setup
  readonly stages: Stages
  readonly log: GatewayLog
  readonly live: LiveConfig
  /** Brings every layer back to the gateway at once, because a person said so beside the admin port. Never throws. */
  panic(reason: string): Promise<void>
}

/** What a gateway is started with. */
export interface GatewayOptions {
  readonly loaded: LoadedConfig
  /** Reads the configuration again, for a reload. Throws `config_invalid`. */
  readonly load: () => LoadedConfig
  readonly clock?: Clock
  /** Where log lines go; default standard output. */
  readonly logTo?: LogOptions['destination']
  /** Changes the constants that a rollout is judged by: for demonstrations and tests that cannot wait for days. */
  readonly pace?: (constants: StageConstants) => StageConstants
}

// Levels at which no call is logged: its line is not even made.
const quiet: ReadonlySet<string> = new Set(['warn', 'error', 'fatal', 'silent'])

type Config = GatewayConfig<StoreConfig>

/** Starts a gateway: store, telemetry, layers, the two listeners. Throws `config_invalid`, or what keeps a port from opening. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const equipment = await equip(options)
  const { log, flights, stories, metrics } = equipment
  const configured = await openConfigured({
    ...options,
    ...equipment,
    moved: (change) => told(equipment, change),
  })
  const { setup, live } = configured
  const drain = createDrain(() => setup().config.drain, flights)
  const opinions = createOpinions({ ...equipment, configured })
  const rooms: Rooms = {
    ...equipment,
    setup,
    draining: () => drain.begun,
    unstreamed: () => isOn(configured.stages.state.known, 'no-stream'),
    looks: opinions.looks,
    noteFeedback: opinions.rate,
    remember(caller, record, ended) {
      opinions.remember(caller, record)
      const past = pastCallFrom(caller, record, ended)
      stories.remember(past)
      equipment.recent.saw(seenCallFrom(past))
      if (!quiet.has(log.level)) log.access(accessLineFrom(past, caller.request.method ?? 'GET'), record.span)
    },
  }
  const { config } = configured.setup()
  await equipment.outside.guard(configured.stages)
  const server = createDataServer(rooms, config, tlsFiles(config, configured.file))
  await server.listen()
  const controller = startRolloutController({ ...equipment, ...options, configured })
  equipment.suspects.heard = soon(() => void controller.look())
  const operations = createOperations({
    setup,
    live,
    stages: configured.stages,
    outside: equipment.outside,
    rollouts: createRolloutOperations({ ...equipment, ...configured, controller }),
    drain,
    flights,
    stories,
    consumers: equipment.consumers,
    recent: equipment.recent,
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
  const leaving = createLeaving({
    ...{ drain, flights, server, log },
    stop() {
      housekeeping.close()
      return controller.close()
    },
    async last() {
      await setup().retire()
      await admin.close()
      await configured.stages.close()
      await equipment.close()
    },
  })
  return {
    url: server.url(),
    adminUrl: admin.url,
    setup,
    stages: configured.stages,
    log,
    live,
    panic: equipment.outside.panic,
    ...leaving,
  }
}

/** What outlives every configuration. */
async function equip({ loaded, clock = { now: Date.now }, logTo }: GatewayOptions) {
  const config = loaded.config as Config
  const names = layers.map(({ name }) => name)
  const recent = createRecent({ clock, layers: names })
  const metrics = remembering(createMetrics({ version, commit, layers: names }), recent)
  const log = createLog({
    level: config.telemetry.logLevel,
    onDropped: (lines) => metrics.dropped('logs', lines),
    ...(logTo === undefined ? {} : { destination: logTo }),
  })
  const replica = createReplica(`${hostname()}:${config.admin.port}`, clock.now())
  const suspects = { heard: (): void => undefined }
  const collector = createCollector({ clock, replica: replica.id, boot: replica.boot, later })
  const tracing = await createTracing(config.telemetry, {
    version,
    onEnd(end) {
      collector.onEnd(end)
      const { attrs } = end
      // Only calls that an arm was drawn for can say anything against it.
      if (attrs?.['foldgate.rollout'] && (end.code >= 500 || attrs['foldgate.fallback.reason'])) suspects.heard()
    },
    onDropped: (spans) => metrics.dropped('traces', spans),
  })
  const store = await createStore(config.store, clock, log)
  metrics.storeUp(() => store.up())
  const http = createHttp()
  const outside = createOutside({ http, clock, log })
  const pressure = createPressureGauge()
  return {
    clock,
    replica,
    collector,
    suspects,
    recent,
    metrics,
    log,
    tracing,
    store,
    http,
    outside,
    flights: createFlights(),
    stories: createMemory<PastCall>(),
    consumers: createConsumers(),
    pressure,
    async close() {
      pressure.close()
      outside.close()
      collector.close()
      await Promise.all([store.close(), http.close(), tracing.close()])
      await log.flush()
    },
  }
}

type Equipment = Awaited<ReturnType<typeof equip>>

function tlsFiles({ listen: { tls } }: Config, file: (path: string) => Buffer): TlsFiles | undefined {
  if (!tls) return undefined
  return { cert: file(tls.certFile), key: file(tls.keyFile), ...(tls.caFile ? { ca: file(tls.caFile) } : {}) }
}

/** Does something 20 ms from now, once for all who ask until then: a storm of failures is no reason to judge without a pause. */
function soon(action: () => void): () => void {
  let waiting = false
  return () => {
    if (waiting) return
    waiting = true
    later(20, () => {
      waiting = false
      action()
    })
  }
}

function told({ metrics, tracing }: Equipment, change: StageChange): void {
  noteMove(tracing, change)
  const { layer, from, to, actor } = change
  if (to.stage === 'rolled-back') metrics.rolledBack(layer, actor === 'foldgate' ? 'controller' : 'operator')
  else if (to.stage === 'gateway' && from.stage !== 'rolled-back') metrics.rolledBack(layer, 'taken-along')
  else if (to.stage !== 'gateway') metrics.promoted(layer)
}
