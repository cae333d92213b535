import type { Target } from '../../../plugins/reply.ts'
import type { DropReason } from '../../telemetry/metric-values.ts'
import type { BookSnapshot } from '../diff/comparison-book.ts'
import { createLegacyAgreement, type LegacyAgreement } from '../diff/legacy-agreement.ts'
import { createLiveLatency, type LiveLatency } from '../diff/live-latency.ts'
import type { PairOutcome } from '../diff/pair-outcome.ts'
import type { Counted } from '../diff/tally.ts'
import { type Comparing, createComparing } from './comparing.ts'
import { createPairCounts, type PairCounts, type PairTally } from './pair-counts.ts'
import { createStreamChecks, type StreamChecks, type StreamTally } from './stream-checks.ts'
import type { PairHeard } from './triples.ts'

/** What comparing has found so far, as `/-/diffs` shows it. */
export interface ShadowView extends BookSnapshot {
  /** Streams of calls in a canary and beside it that were looked at as they went by. */
  readonly streams: Readonly<Record<'canary' | 'control', StreamTally>>
  /** Calls that were answered twice more, by the layer that moved. */
  readonly pairs: Readonly<Record<string, PairTally>>
  /** Comparisons that were given up instead of slowing calls, by reason. */
  readonly dropped: Readonly<Partial<Record<DropReason, number>>>
}

/** Everything that is compared beside the calls. One a process: it outlives configurations. */
export interface Shadow {
  readonly comparing: Comparing
  readonly streams: StreamChecks
  readonly pairs: PairCounts
  /** How soon live answers begin: nothing is copied while that suffers. */
  readonly live: LiveLatency
  /** A triple was judged; `target` is who answered. */
  paired(heard: PairHeard, target: Target): void
  /** Hears every triple that was judged. */
  listenPairs(listener: (heard: PairHeard) => void): void
  /** How far we agree with the chain that serves so far; begun at this instant where it was not yet. */
  agreement(since: number): LegacyAgreement
  /** Something was given up. */
  dropped(reason: DropReason): void
  view(at: number): ShadowView
}

/** Where comparisons are counted. */
export interface ShadowMetrics {
  shadowCompared(layer: string, as: Counted): void
  shadowDropped(reason: DropReason): void
  /** How much less like the served answer the new way's is than the old way's repetition: 0 to 1, 0 when not at all. */
  behaviourDrift(runner: string, model: string, index: number): void
}

/** Makes the {@link Shadow} of a process. */
export function createShadow(metrics: ShadowMetrics): Shadow {
  const drops: Partial<Record<DropReason, number>> = {}
  const dropped = (reason: DropReason): void => {
    drops[reason] = (drops[reason] ?? 0) + 1
    metrics.shadowDropped(reason)
  }
  const comparing = createComparing({ counted: metrics.shadowCompared, dropped: () => dropped('queue-full') })
  const streams = createStreamChecks()
  const pairs = createPairCounts()
  const drift = createDrift()
  const hearing: ((heard: PairHeard) => void)[] = []
  let agreement: LegacyAgreement | undefined
  return {
    comparing,
    streams,
    pairs,
    live: createLiveLatency(),
    paired(heard, { runner, model }) {
      metrics.behaviourDrift(runner, model, drift(`${runner}\n${model}`, heard.outcome))
      for (const hears of hearing) hears(heard)
    },
    listenPairs: (listener) => void hearing.push(listener),
    dropped,
    agreement(since) {
      agreement ??= createLegacyAgreement(since, comparing.ignores)
      return agreement
    },
    view: (at) => ({
      ...comparing.snapshot(at),
      streams: streams.tally(),
      pairs: pairs.tally(),
      dropped: { ...drops },
    }),
  }
}

const weight = 1 / 50

/** Tells by how much new answers are less alike, over about the last fifty triples of each place. */
function createDrift(): (place: string, outcome: PairOutcome) => number {
  const means = new Map<string, number>()
  return (place, { repeated, renewed }) => {
    const before = means.get(place)
    if (repeated === undefined || renewed === undefined) return Math.max(0, before ?? 0)
    const now = before === undefined ? repeated - renewed : before + weight * (repeated - renewed - before)
    means.set(place, now)
    return Math.max(0, now)
  }
}
