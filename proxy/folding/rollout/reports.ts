import type { Log } from '../../../plugins/host.ts'
import type { JsonObject } from '../../../plugins/jws-json.ts'
import type { Collector } from '../collect/collector.ts'
import { anyStratum, type LatencyFlush, p99FromFlushes } from '../collect/latency-limits.ts'
import { type SeenSketches, seenWithin } from '../collect/seen-tiers.ts'
import type { RolloutState } from '../state/state.ts'
import type { Drift } from './drift.ts'
import { type Flush, type RolloutView, shareOfTier } from './evidence.ts'
import type { FrozenStep } from './frozen-steps.ts'

/** All that one process tells the others of a rollout: cumulative, so that the latest word is enough. */
export interface Report {
  readonly flush: Flush
  readonly latency?: LatencyFlush
  readonly seen: SeenSketches
  /** What has changed at runners; absent: nothing. */
  readonly drifts?: readonly Drift[]
}

/** Makes the reports of this process. */
export interface Reporter {
  of(rollout: string): Report
}

// Histograms and sketches take milliseconds to write, and change little in a few seconds.
const redrawMs = 10_000

/** Makes a {@link Reporter}. Times and sketches are at most 10 s old, and never of an earlier step. */
export function createReporter(
  collector: Collector,
  now: () => number,
  drifts: (rollout: string) => readonly Drift[] = () => [],
): Reporter {
  let slow: { readonly key: string; readonly at: number; readonly rest: Omit<Report, 'flush'> } | undefined
  return {
    of(rollout) {
      const flush = collector.flush(rollout)
      const key = `${rollout}\n${collector.stepOf(rollout)}`
      if (slow?.key !== key || now() - slow.at >= redrawMs) {
        const latency = collector.latency(rollout)
        slow = { key, at: now(), rest: { seen: collector.seen(now()), ...(latency ? { latency } : {}) } }
      }
      const changed = drifts(rollout)
      return { flush, ...slow.rest, ...(changed.length > 0 ? { drifts: changed } : {}) }
    },
  }
}

/** What all processes have told of a rollout under one name; nothing, and a line in the log, where that cannot be had. */
export async function toldOf(
  { state, log }: { readonly state: Pick<RolloutState, 'collect'>; readonly log: Log },
  rollout: string,
  name: string,
): Promise<readonly JsonObject[]> {
  try {
    return (await state.collect(rollout, name)).map(({ counters }) => counters)
  } catch (reason) {
    log.warn({ reason: (reason as Error).message }, 'what the other replicas have counted cannot be had')
    return []
  }
}

/** The reports among what processes have told, without this process's own. */
export function reportsOfOthers(words: readonly JsonObject[], own?: Report): readonly Report[] {
  return (words as unknown as Report[]).filter(({ flush }) => flush && flush.boot !== own?.flush.boot)
}

/** What a rollout's view takes from reports: what was seen within its shares, and the p99 of both arms. */
export function viewFromReports(
  reports: readonly Report[],
  { shares, frozen }: { shares: Readonly<Record<string, number>>; frozen: FrozenStep },
): Pick<RolloutView, 'seen' | 'p99'> {
  const { step } = frozen.constants
  // Nothing falls into a share yet in shadow, and everything is compared.
  const share = (tier: string): number => (step === 'shadow' ? 1 : shareOfTier(shares, tier))
  const latencies = reports.flatMap(({ latency }) => (latency?.step === step ? latency : []))
  const seen = seenWithin(
    share,
    reports.map((report) => report.seen),
  )
  const p99 = step === 'S4' ? againstFrozen(latencies, frozen) : p99FromFlushes(latencies)
  return { seen, ...(p99 ? { p99 } : {}) }
}

/** In the last step there is next to no control: the canary is held against that of the step before. */
function againstFrozen(latencies: readonly LatencyFlush[], { limits }: FrozenStep): RolloutView['p99'] {
  const alone = latencies.map((each) => ({ ...each, arms: { canary: each.arms.canary, control: each.arms.canary } }))
  const canary = p99FromFlushes(alone)
  const control = limits[anyStratum]
  return canary && control && { canaryMs: canary.canaryMs, controlMs: control.q99Ms, calls: canary.calls }
}
