import type { Route } from '../../plugins/chat.ts'
import type { FallbackReason } from '../../plugins/execution-context-fallback.ts'
import type { Count } from '../../plugins/host.ts'
import { metricTable } from './metric-table.ts'
import {
  type Arm,
  type CacheState,
  type CompileResult,
  type DecisionKind,
  type DropReason,
  type Executor,
  type LayerStatus,
  labelValues,
  type MissedAt,
  type MissedHeader,
  type Phase,
  type RollbackCause,
  type ShadowVerdict,
  type Signal,
  type Source,
  type TokenKind,
} from './metric-values.ts'
import { createCounters, createHistograms, listed, listedSlots, type Sample, statusCodes } from './series.ts'

/** A call that is over. */
export interface EndedCall {
  readonly route: Route
  /** HTTP status; 499 for a caller that went away. */
  readonly code: number
  readonly source: Source
  readonly arm: Arm
  readonly seconds: number
  readonly overheadSeconds?: number | undefined
  /** What runners took until their heads were there. */
  readonly runnerSeconds?: number | undefined
  /** Streams only. */
  readonly ttftSeconds?: number | undefined
  /** Of a call whose trace is recorded: the exemplar of the buckets that it falls into. */
  readonly traceId?: string | undefined
}

/** What calls are counted in, and how it is read. `layerNames` are those of the product. */
export function createMeters(layerNames: readonly string[]) {
  const route = listed('route', labelValues.route)
  const [code, source] = [statusCodes('code'), listed('source', labelValues.source)]
  const [arm, layer] = [listed('arm', labelValues.arm), listed('layer', layerNames)]
  const [phase, status, by] = [
    listed('phase', labelValues.phase),
    listed('status', labelValues.status),
    listed('by', labelValues.by),
  ]
  const [kind, signal] = [listed('kind', labelValues.kind), listed('signal', labelValues.signal)]
  const [what, places] = [listed('event', labelValues.count), (list: readonly string[]) => list.keys()]
  const requests = createCounters([route, code, source])
  const durations = createHistograms([route, arm], metricTable.request_duration_seconds.buckets)
  const overheads = createHistograms([route], metricTable.overhead_seconds.buckets)
  const firstTokens = createHistograms([arm], metricTable.time_to_first_token_seconds.buckets)
  const layers = createHistograms([layer, phase], metricTable.layer_duration_seconds.buckets)
  const cache = listed('cache', labelValues.cache)
  const firstBytes = createHistograms([cache], metricTable.first_byte_seconds.buckets)
  const flushes = createHistograms([], metricTable.stream_flush_bytes.buckets)
  const statuses = createCounters([layer, status, by])
  const events = createCounters([what], places(labelValues.count))
  const tokens = createCounters([kind], places(labelValues.kind))
  const [reason, header] = [listed('reason', labelValues.reason), listed('header', labelValues.header)]
  const [where, result] = [listed('where', labelValues.where), listed('result', labelValues.result)]
  const drop = listed('reason', labelValues.drop)
  const fallbacks = createCounters([layer, reason])
  const unended = createCounters([layer])
  const missing = createCounters([header, where])
  const compiles = createCounters([result], places(labelValues.result))
  const verdict = listed('verdict', labelValues.verdict)
  const compared = listed('layer', [...layerNames, 'answer'])
  const comparisons = createCounters([compared, verdict])
  const drifts = new Map<string, Sample>()
  const drops = createCounters([drop], places(labelValues.drop))
  const [decision, cause] = [listed('decision', labelValues.decision), listed('cause', labelValues.cause)]
  // From zero on: each single one matters, and is seen only against a value before it.
  const decisions = createCounters([layer, decision], listedSlots([layer, decision]))
  const rollbacks = createCounters([layer, cause], listedSlots([layer, cause]))
  const rollbackTimes = createHistograms([layer], metricTable.rollback_duration_seconds.buckets, listedSlots([layer]))
  const promotions = createCounters([layer], listedSlots([layer]))
  const dropped = createCounters([signal], places(labelValues.signal))
  return {
    ended(call: EndedCall): void {
      const at = route.at(call.route)
      requests.add((at * code.values.length + code.at(call.code)) * source.values.length + source.at(call.source), 1)
      durations.observe(at * arm.values.length + arm.at(call.arm), call.seconds, call.traceId)
      if (call.overheadSeconds !== undefined) overheads.observe(at, call.overheadSeconds, call.traceId)
      if (call.ttftSeconds !== undefined) firstTokens.observe(arm.at(call.arm), call.ttftSeconds, call.traceId)
    },
    record: {
      layer: (name: string, of: Phase, seconds: number): void =>
        layers.observe(layer.at(name) * phase.values.length + phase.at(of), seconds),
      layerStatus: (name: string, said: LayerStatus, who: Executor): void =>
        statuses.add((layer.at(name) * status.values.length + status.at(said)) * by.values.length + by.at(who), 1),
      firstByte: (state: CacheState, seconds: number): void => firstBytes.observe(cache.at(state), seconds),
      flushed: (bytes: number): void => flushes.observe(0, bytes),
      tokens: (of: TokenKind, count: number): void => tokens.add(kind.at(of), count),
      count: (of: Count, count = 1): void => events.add(what.at(of), count),
      fallback: (name: string, why: FallbackReason): void =>
        fallbacks.add(layer.at(name) * reason.values.length + reason.at(why), 1),
      unacknowledged: (name: string): void => unended.add(layer.at(name), 1),
      missingHeader: (name: MissedHeader, at: MissedAt): void =>
        missing.add(header.at(name) * where.values.length + where.at(at), 1),
      compiled: (as: CompileResult): void => compiles.add(result.at(as), 1),
      shadowCompared: (name: string, as: ShadowVerdict): void =>
        comparisons.add(compared.at(name) * verdict.values.length + verdict.at(as), 1),
      /** Both are names of the configuration. */
      behaviourDrift: (runner: string, model: string, value: number): void =>
        void drifts.set(`${runner}\n${model}`, { labels: { runner, model }, value }),
      shadowDropped: (why: DropReason): void => drops.add(drop.at(why), 1),
      decided: (name: string, as: DecisionKind): void =>
        decisions.add(layer.at(name) * decision.values.length + decision.at(as), 1),
      rolledBack: (name: string, by: RollbackCause): void =>
        rollbacks.add(layer.at(name) * cause.values.length + cause.at(by), 1),
      rollbackTook: (name: string, seconds: number): void => rollbackTimes.observe(layer.at(name), seconds),
      promoted: (name: string): void => promotions.add(layer.at(name), 1),
      dropped: (of: Signal, count: number): void => dropped.add(signal.at(of), count),
    },
    read: {
      requests_total: requests.samples,
      request_duration_seconds: durations.samples,
      overhead_seconds: overheads.samples,
      time_to_first_token_seconds: firstTokens.samples,
      first_byte_seconds: firstBytes.samples,
      stream_flush_bytes: flushes.samples,
      layer_duration_seconds: layers.samples,
      layer_status_total: statuses.samples,
      layer_events_total: () => events.samples().map(eventByLayer),
      tokens_total: tokens.samples,
      fallbacks_total: fallbacks.samples,
      unacknowledged_total: unended.samples,
      missing_header_total: missing.samples,
      policy_compile_total: compiles.samples,
      shadow_comparisons_total: comparisons.samples,
      behaviour_drift_index: () => [...drifts.values()],
      shadow_dropped_total: drops.samples,
      canary_decisions_total: decisions.samples,
      rollbacks_total: rollbacks.samples,
      rollback_duration_seconds: rollbackTimes.samples,
      promotions_total: promotions.samples,
      telemetry_dropped_total: dropped.samples,
    },
  }
}

function eventByLayer({ labels, value }: Sample): Sample {
  const [layer = '', event = 'other'] = (labels['event'] as string).split('.')
  return { labels: { layer, event }, value }
}
