import { collectDefaultMetrics, type Metric, type OpenMetricsContentType, Registry } from 'prom-client'
import type { FallbackReason } from '../../plugins/execution-context-fallback.ts'
import type { Count } from '../../plugins/host.ts'
import { createGauges, type MetricsOptions, type MovingLayer } from './gauges.ts'
import { createMeters, type EndedCall } from './meters.ts'
import { type MetricEntry, type MetricName, metricTable } from './metric-table.ts'
import type {
  CacheState,
  CompileResult,
  DecisionKind,
  DropReason,
  Executor,
  LayerStatus,
  MissedAt,
  MissedHeader,
  Phase,
  RollbackCause,
  ShadowVerdict,
  Signal,
  TokenKind,
} from './metric-values.ts'
import { createRunnerMeters, type RunnerTry } from './runner-meters.ts'
import type { Sample } from './series.ts'

/** What a scrape gets. */
export interface Exposition {
  readonly contentType: string
  readonly body: string
}

/** The gateway's counters, for the life of the process. Recording costs an addition or two; whatever is not on a closed list is `other`. */
export interface Metrics {
  /** A call has begun: it is in flight until `ended`, which must follow exactly once. */
  begun(): void
  ended(call: EndedCall): void
  layer(name: string, phase: Phase, seconds: number): void
  layerStatus(name: string, status: LayerStatus, by: Executor): void
  /** −1 rolled back, 0 gateway (from the start), 1 shadow, 2 to 5 canary, 6 native; `weight` is the runner's share, 0 to 1. */
  layerStage(name: string, stage: number, weight?: number): void
  /** A layer of a call fell back to the gateway. */
  fallback(layer: string, reason: FallbackReason): void
  /** A stream ended without a layer's final word. */
  unacknowledged(layer: string): void
  missingHeader(header: MissedHeader, where: MissedAt): void
  /** A step was compiled at a runner, or not. */
  compiled(result: CompileResult): void
  /** A decision over a layer said something new. */
  decided(layer: string, decision: DecisionKind): void
  rolledBack(layer: string, cause: RollbackCause): void
  /** So long after the word for it, no call here is given to the runner for a layer. */
  rollbackTook(layer: string, seconds: number): void
  /** A layer went a step further. */
  promoted(layer: string): void
  /** Two halves of a layer, or two whole answers (`answer`), were held against each other. */
  shadowCompared(layer: string, as: ShadowVerdict): void
  /** How much less alike new answers of a runner and a model are, 0 to 1; both as the configuration names them. */
  behaviourDrift(runner: string, model: string, index: number): void
  /** A comparison, a copy of a call or a question to a runner was given up. */
  shadowDropped(reason: DropReason): void
  tokens(kind: TokenKind, count: number): void
  /** A try at a runner is over. */
  tried(tried: RunnerTry): void
  /** A good answer began, so many seconds after its request. */
  firstByte(cache: CacheState, seconds: number): void
  /** A part of a stream was written. */
  flushed(bytes: number): void
  /** `by` defaults to 1. */
  count(what: Count, by?: number): void
  /** What people have switched for all layers; asked at each scrape. */
  switches(ask: () => { readonly frozen: boolean; readonly unstreamed: boolean }): void
  /** What decisions over moving layers rest on; asked at each scrape. */
  rollouts(ask: () => Iterable<MovingLayer>): void
  /** Asked at each scrape. */
  storeUp(ask: () => boolean): void
  /** The runners of the running configuration and whether each takes calls; asked at each scrape. */
  runnersAvailable(ask: () => Iterable<readonly [name: string, available: boolean]>): void
  /** Whether the configuration that was read last is running now. */
  reload(ok: boolean): void
  dropped(signal: Signal, count: number): void
  /** Everything, as OpenMetrics 1.0 or in Prometheus' text format 0.0.4, whichever `accept` prefers. */
  text(accept?: string): Promise<Exposition>
}

/** Makes the {@link Metrics}. */
export function createMetrics(options: MetricsOptions): Metrics {
  const meters = createMeters(options.layers)
  const gauges = createGauges(options)
  const runners = createRunnerMeters()
  const registries = createRegistries({ ...meters.read, ...gauges.read, ...runners.read })
  return {
    ...meters.record,
    ...gauges.record,
    ...runners.record,
    begun: () => gauges.inflight(1),
    ended(call) {
      gauges.inflight(-1)
      meters.ended(call)
    },
    text: async (accept) => {
      const registry = prefersOpenMetrics(accept) ? registries.open : registries.classic
      return { contentType: registry.contentType, body: await registry.metrics() }
    },
  }
}

type Readers = Readonly<Record<MetricName, () => Sample[]>>

function createRegistries(readers: Readers) {
  const classic = new Registry()
  const open = new Registry<OpenMetricsContentType>()
  open.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  for (const registry of [classic, open]) {
    for (const [name, read] of Object.entries(readers)) {
      const entry: MetricEntry = metricTable[name as MetricName]
      const full = `foldgate_${name}`
      register(registry, { name: full, help: entry.help, type: entry.type }, () =>
        read().map(({ part, ...sample }) => (part ? { ...sample, metricName: full + part } : sample)),
      )
    }
    for (const metric of processMetrics()) {
      register(registry, metric, async () => (await metric.get()).values)
    }
  }
  return { classic, open }
}

/** What prom-client's registry asks of a metric, beyond its declared type. */
interface Described {
  readonly name: string
  readonly help: string
  readonly type: string
}
interface Readable extends Described {
  get(): Promise<{ values: unknown[] }>
}

// An object a registry, because rendering OpenMetrics renames counters in place.
function register(
  registry: Pick<Registry, 'registerMetric'>,
  { name, help, type }: Described,
  values: () => unknown[] | Promise<unknown[]>,
): void {
  const metric = {
    name,
    help,
    type,
    async get() {
      return { name: metric.name, help, type, aggregator: 'sum', values: await values() }
    },
  }
  registry.registerMetric(metric as unknown as Metric)
}

let ofProcess: readonly Readable[] | undefined

/** The metrics of the process, once a process: each set of them watches the event loop and the garbage collector for good. */
function processMetrics(): readonly Readable[] {
  if (ofProcess === undefined) {
    const registry = new Registry()
    collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 20 })
    const known = registry.getMetricsAsArray() as unknown as Readable[]
    // prom-client's gauges that end in _total break the naming rules, and only repeat sums of others.
    ofProcess = known.filter(({ name, type }) => type === 'counter' || !name.endsWith('_total'))
  }
  return ofProcess
}

function prefersOpenMetrics(accept = ''): boolean {
  const wanted = quality(accept, 'application/openmetrics-text')
  return wanted > 0 && wanted >= quality(accept, 'text/plain')
}

/** The weight an `Accept` header gives one media type by name (RFC 9110 §12.5.1); 0 when it does not name it. */
function quality(accept: string, type: string): number {
  const range = accept.split(',').find((each) => each.split(';', 1)[0]?.trim().toLowerCase() === type)
  if (range === undefined) return 0
  const weight = /;\s*q=([\d.]+)/i.exec(range)?.[1]
  return weight === undefined ? 1 : Number(weight) || 0
}
