import type { LiveConfig } from '../config/live.ts'
import type { LogLevel } from '../config/sections.ts'
import type { LayerView } from './admin/layer-view.ts'
import type { Health, Operations, ReplicasView, StatusView } from './admin/operations.ts'
import type { Memory } from './admin/stories.ts'
import { type Consumers, viewOfConsumers } from './consumers.ts'
import type { Drain } from './drain.ts'
import type { Flights } from './flights.ts'
import type { Stages } from './folding/stages.ts'
import { layerProblems, layerStory, layerViews } from './layer-views.ts'
import type { Outside } from './outside/outside.ts'
import { createPurge } from './purge.ts'
import type { RolloutOperations } from './rollout-operations.ts'
import { runnerViews } from './runner-views.ts'
import type { Setup } from './setup.ts'
import { createStageChanges, switchesOf } from './stage-changes.ts'
import { type PastCall, storyFromPastCall } from './stories.ts'
import type { GatewayLog } from './telemetry/log.ts'
import type { Metrics } from './telemetry/metrics.ts'
import type { Recent } from './telemetry/recent.ts'
import { version } from './version.ts'

/** What the admin port looks at and turns. */
export interface OperationsParts {
  readonly setup: () => Setup
  readonly live: LiveConfig
  readonly stages: Stages
  readonly drain: Drain
  readonly flights: Flights
  readonly stories: Memory<PastCall>
  readonly consumers: Consumers
  readonly recent: Pick<Recent, 'view'>
  readonly metrics: Metrics
  readonly log: GatewayLog
  readonly startedAt: number
  readonly outside: Pick<Outside, 'panicking' | 'undo'>
  readonly rollouts: RolloutOperations
}

/** The gateway as people on call, probes and commands see it. */
export function createOperations(parts: OperationsParts): Operations {
  const { setup, live, stages, drain, stories, metrics, log } = parts
  const views = (): LayerView[] => layerViews({ setup: setup(), stages })
  const shown = () => (live.current.view as { layers?: Record<string, unknown> }).layers ?? {}
  return {
    health: (probe) => (probe === 'ready' ? readiness(parts) : [{ name: 'process', ok: true }]),
    async metrics(accept) {
      const { contentType, body } = await metrics.text(accept)
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
    explainLayer: (name) => layerStory(name, { setup: setup(), stages }, shown()),
    purgeCache: createPurge(parts),
    ...createStageChanges({ setup, stages, views, undo: parts.outside.undo }),
    ...parts.rollouts,
    diffs: () => setup().folding.shadow.view(setup().host.clock.now()),
    legacy() {
      const now = setup().host.clock.now()
      return setup().legacy && setup().folding.shadow.agreement(now).report(now)
    },
    consumers: () => viewOfConsumers(parts.consumers),
    recent: () => parts.recent.view(),
    replicas: () => replicasOf(parts),
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

/** The replicas as the state of the stages has heard of them. */
function replicasOf({ stages }: OperationsParts): ReplicasView {
  const all = stages.state.replicas()
  const away = all.filter(({ agrees }) => !agrees).map(({ name }) => name)
  return { agree: all.length - away.length, of: all.length, away }
}

function readiness({ drain, live }: OperationsParts): Health {
  const draining = drain.begun
    ? { name: 'drain', ok: false, note: 'the gateway is leaving' }
    : { name: 'drain', ok: true }
  return [{ name: 'config', ok: live.current !== undefined }, draining]
}

function statusOf(
  { setup, live, stages, drain, flights, startedAt, outside }: OperationsParts,
  views: readonly LayerView[],
): StatusView {
  const now = setup()
  const { host } = now
  const runners = runnerViews(now)
  const store = { kind: host.store.kind, up: host.store.up() }
  const switches = switchesOf(stages)
  const unstreamed = switches['no-stream']
  const problems = [
    ...(unstreamed ? [`answers are not streamed: ${unstreamed.actor}: ${unstreamed.reason}`] : []),
    ...(outside.panicking === undefined ? [] : [`no layer leaves the gateway: ${outside.panicking}`]),
    ...runners.filter(({ available }) => !available).map(({ name }) => `runner ${name} is out of rotation`),
    ...(store.up ? [] : ['the store does not answer']),
    ...layerProblems(views, now),
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
    switches,
  }
}
