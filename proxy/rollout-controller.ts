import type { GatewayConfig } from '../config/schema.ts'
import type { Clock } from '../plugins/host.ts'
import { layers } from '../plugins/index.ts'
import type { Configured } from './configured.ts'
import type { Collector } from './folding/collect/collector.ts'
import { type Controller, type ControllerParts, createController } from './folding/rollout/controller.ts'
import { evidenceAgeMs } from './folding/rollout/decision-record.ts'
import { figuresFrom } from './folding/rollout/figures.ts'
import type { Replica } from './folding/state/replica.ts'
import { processTimers } from './folding/state/timers.ts'
import type { Outside } from './outside/outside.ts'
import type { MovingLayer } from './telemetry/gauges.ts'
import type { GatewayLog } from './telemetry/log.ts'
import type { Metrics } from './telemetry/metrics.ts'

/** What of a gateway judges its rollouts. */
export interface RolloutControllerParts {
  readonly configured: Pick<Configured, 'setup' | 'stages' | 'ejections' | 'drift'>
  readonly collector: Collector
  readonly replica: Replica
  readonly clock: Clock
  readonly log: GatewayLog
  readonly metrics: Metrics
  readonly outside: Outside
  readonly pace?: ControllerParts['pace']
}

/** Starts to judge rollouts: decisions are counted, logged and told to those outside. */
export function startRolloutController(parts: RolloutControllerParts): Controller {
  const { configured, metrics, log, outside, pace } = parts
  const { setup, stages, ejections, drift } = configured
  const controller = createController({
    ...parts,
    replica: parts.replica.id,
    stages,
    ejections,
    drifts: drift.of,
    timers: processTimers,
    layers: layers.map(({ name }) => name),
    autopilot: () => setup().config.folding.policy.autopilot,
    cacheTtlMs: () => cacheTtlMs(setup().config),
    ignores: (layer) => setup().folding.shadow.comparing.ignores.blocking(layer, parts.clock.now()).length,
    ...(pace ? { pace } : {}),
    allows: outside.allows,
    decided(said) {
      const { layer, kind, reason, fuse } = said
      metrics.decided(layer, kind)
      log.info({ layer, decision: kind, reason, fuse }, 'rollout judged')
      outside.decided(said)
    },
  })
  metrics.rollouts(() => movingLayers(controller, parts.clock.now()))
  return controller
}

function movingLayers({ decisionOn }: Pick<Controller, 'decisionOn'>, now: number): MovingLayer[] {
  return layers.flatMap(({ name }) => {
    const record = decisionOn(name)
    if (!record) return []
    const { canary, control } = figuresFrom(record.evidence, record.constants)
    const age = evidenceAgeMs(record, now)
    return [
      { layer: name, canary: canary.ended, control: control.ended, ageSeconds: age === null ? null : age / 1_000 },
    ]
  })
}

function cacheTtlMs({ layers: sections }: Pick<GatewayConfig, 'layers'>): number | undefined {
  const { ttl_seconds: ttl } = (sections['cache'] ?? {}) as { readonly ttl_seconds?: number }
  return ttl === undefined ? undefined : ttl * 1_000
}
