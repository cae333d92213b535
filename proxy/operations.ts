import type { LiveConfig } from '../config/live.ts'
import type { LogLevel } from '../config/sections.ts'
import { foldable } from '../plugins/flow.ts'
import { layers } from '../plugins/index.ts'
import type { Layer } from '../plugins/layer.ts'
import type { Health, LayerStory, LayerView, Operations, RunnerView, StatusView } from './admin/operations.ts'
import type { Memory } from './admin/stories.ts'
import type { Drain } from './drain.ts'
import type { Flights } from './flights.ts'
import type { Setup } from './setup.ts'
import { type PastCall, storyFromPastCall } from './stories.ts'
import type { GatewayLog } from './telemetry/log.ts'
import type { Metrics } from './telemetry/metrics.ts'
import { version } from './version.ts'

/** What the admin port looks at and turns. */
export interface OperationsParts {
  readonly setup: () => Setup
  readonly live: LiveConfig
  readonly drain: Drain
  readonly flights: Flights
  readonly stories: Memory<PastCall>
  readonly metrics: Metrics
  readonly log: GatewayLog
  readonly startedAt: number
}

const all: readonly Layer[] = layers

/** The gateway as people on call, probes and commands see it. */
export function createOperations(parts: OperationsParts): Operations {
  const { setup, live, drain, stories, metrics, log } = parts
  const views = (): LayerView[] => all.map((layer) => layerView(layer, setup()))
  return {
    health: (probe) => (probe === 'ready' ? readiness(parts) : [{ name: 'process', ok: true }]),
    async metrics() {
      const { contentType, body } = await metrics.text()
      return { contentType, text: body }
    },
    status: () => statusOf(parts, views()),
    layers: views,
    config: () => ({ config: live.current.view, digest: live.current.digest, lastReload: live.lastReload }),
    reload: (by) => live.reload(by.name),
    explain(id) {
      const past = stories.find(id)
      return past && storyFromPastCall(past)
    },
    explainLayer: (name) => layerStory(name, parts),
    drain(by, reason) {
      log.info({ by: by.name, reason }, 'told to drain')
      drain.begin()
    },
    drained: (signal) => drain.drained(signal),
    logLevel: () => log.level as LogLevel,
    setLogLevel(level, by) {
      log.setLevel(level)
      log.info({ by: by.name, level }, 'log level changed')
    },
  }
}

function readiness({ drain, live }: OperationsParts): Health {
  const draining = drain.begun
    ? { name: 'drain', ok: false, note: 'the gateway is leaving' }
    : { name: 'drain', ok: true }
  return [{ name: 'config', ok: live.current !== undefined }, draining]
}

function layerView(layer: Layer, setup: Setup): LayerView {
  const on = setup.acting.has(layer.name)
  return {
    name: layer.name,
    on,
    stage: 'gateway',
    where: on ? 'gateway' : 'none',
    status: on ? 'active' : 'evaporation-bypassed',
    routes: layer.routes,
  }
}

function layerStory(name: string, { setup, live }: OperationsParts): LayerStory | undefined {
  const layer = all.find((each) => each.name === name)
  if (!layer) return undefined
  const { reads, writes, answers, rewrites } = layer
  const view = live.current.view as { layers?: Record<string, unknown> }
  const verdict = foldable(
    all.filter((each) => setup().acting.has(each.name)),
    new Set([name]),
  )
  const alone = verdict.ok ? 'may move to the runner by itself' : verdict.why
  return {
    ...layerView(layer, setup()),
    reads,
    writes,
    answers,
    rewrites,
    config: view.layers?.[name],
    foldable: alone,
  }
}

function statusOf(
  { setup, live, drain, flights, startedAt }: OperationsParts,
  views: readonly LayerView[],
): StatusView {
  const { board, config, host } = setup()
  const runners = config.runners.map(({ name, kind, url }): RunnerView => {
    const { available, outstandingTokens } = board.state(name)
    return { name, kind, url: withoutUserInfo(url), available, outstandingTokens }
  })
  const store = { kind: host.store.kind, up: host.store.up() }
  const problems = [
    ...runners.filter(({ available }) => !available).map(({ name }) => `runner ${name} is out of rotation`),
    ...(store.up ? [] : ['the store does not answer']),
    ...(live.lastReload.ok ? [] : ['the last reload was refused']),
  ]
  return {
    version,
    state: drain.begun ? 'draining' : problems.length > 0 ? 'degraded' : 'ok',
    problems,
    startedAt,
    inFlight: flights.count,
    config: live.current.digest,
    lastReload: live.lastReload,
    store,
    runners,
    layers: views,
  }
}

function withoutUserInfo(url: string): string {
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname === '/' ? '' : pathname}`
}
