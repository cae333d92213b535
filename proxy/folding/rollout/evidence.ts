import {
  type Arm,
  type ArmCounts,
  type Cell,
  type MinuteCounts,
  noCounts,
  type PlaceCounts,
  type RolloutStep,
  type SevereCounts,
  type ShadowCounts,
  type UnitEvent,
  type UnitMark,
} from './evidence-counts.ts'
import type { FuseId } from './fuse.ts'

/**
 * What one process of the gateway has counted for a rollout since it began there: cumulative, never a difference. A later flush of the
 * same process replaces an earlier one, so lost, repeated and reordered flushes do no harm.
 */
export interface Flush {
  readonly replica: string
  /** Another one after each restart: counts of before stay. */
  readonly boot: string
  /** Raised by every flush of this boot. */
  readonly seq: number
  /** When it was made, in milliseconds since the epoch. */
  readonly at: number
  readonly cells: readonly Cell[]
  readonly units: readonly UnitMark[]
  /** The share of units that this process marks, 0 to 1; default 1. */
  readonly sampled?: number
  /** Of the current step. */
  readonly places: readonly PlaceCounts[]
  readonly shadow: ShadowCounts
  readonly severe: SevereCounts
  /** The last three whole minutes at least. */
  readonly minutes: readonly MinuteCounts[]
  /** Canary calls in flight now. */
  readonly inFlight: number
  /** Canary calls of this step that ended, by stratum of coverage, such as `stream` or `tools`. */
  readonly coverage: Readonly<Record<string, number>>
}

/** What the leader itself knows of a rollout, beside what is counted. */
export interface RolloutView {
  readonly rollout: string
  readonly layer: string
  readonly step: RolloutStep
  /**
   * When this step began, in milliseconds since the epoch. A step that was held may begin anew: its totals count from then on, while what
   * is compared with the control is never forgotten.
   */
  readonly startedAt: number
  /** Digest of the constants that were frozen when the step began. */
  readonly constantsDigest: string
  /** The share of units meant for the canary in this step, 0 to 1, by tier; `*` for all others, `-` for callers without one. */
  readonly shares: Readonly<Record<string, number>>
  /** The share of units that are marked, 0 to 1: 1 for tenants. */
  readonly sampled: number
  /** Replicas that are believed to be alive. */
  readonly replicas: readonly string[]
  /** It has tripped: nothing will bring it back. */
  readonly tripped?: { readonly fuse: FuseId; readonly reason: string; readonly at: number }
  /** What an operator or a webhook asked for. */
  readonly operator?: { readonly verb: 'rollback' | 'hold'; readonly actor: string; readonly reason: string }
  /** Something is wrong everywhere, and known to be. */
  readonly incident: boolean
  /** Active rules that ignore a hard difference. */
  readonly ignores: number
  /** Distinct units and tenants, and calls by stratum, that fell or would fall into the canary's share within the last 24 hours. */
  readonly seen: {
    readonly units: number
    readonly tenants: number
    readonly strata: Readonly<Record<string, number>>
  }
  /** The highest value in this step of the leader's CUSUM over merged one-second buckets. */
  readonly cusumPeak: number
  /** p99 of the time to the first byte in this step, in milliseconds, and the calls of the smaller arm. */
  readonly p99?: { readonly canaryMs: number; readonly controlMs: number; readonly calls: number }
}

/** For one event: units of a tier and step to which it had not happened in an earlier step, and those to which it did in this one. */
export interface FirstCounts {
  readonly atRisk: number
  readonly first: number
}

/** Units of one arm. */
export interface UnitCounts {
  readonly units: number
  readonly tenants: number
  readonly firsts: Readonly<Record<UnitEvent, FirstCounts>>
}

/** Units of one step and tier. */
export interface UnitCell {
  readonly step: RolloutStep
  readonly tier: string
  readonly canary: UnitCounts
  readonly control: UnitCounts
}

/** Everything a decision rests on: plain JSON, the same whatever the order and number of the flushes that it was made of. */
export interface Evidence extends RolloutView, Omit<Flush, 'replica' | 'boot' | 'seq' | 'at' | 'units' | 'sampled'> {
  readonly units: readonly UnitCell[]
  /** When each replica was last heard, in milliseconds since the epoch. */
  readonly heard: Readonly<Record<string, number>>
}

/** Both arms of cells, added up. */
export function armTotals(cells: readonly Cell[]): { readonly canary: ArmCounts; readonly control: ArmCounts } {
  const totals = (arm: Arm): ArmCounts => addedUp([noCounts, ...cells.map((cell) => cell[arm])])
  return { canary: totals('canary'), control: totals('control') }
}

/** The share of a tier in {@link RolloutView.shares}. */
export function shareOfTier(shares: RolloutView['shares'], tier: string): number {
  return shares[tier || '-'] ?? shares['*'] ?? 0
}

/** Counts, added up member by member: numbers, and records of counts. None: an empty record. */
export function addedUp<Counts extends object>(all: readonly Counts[]): Counts {
  const sums: Record<string, unknown> = {}
  for (const each of all) {
    for (const [name, value] of Object.entries(each)) {
      const before = sums[name]
      if (typeof value === 'number') sums[name] = ((before as number | undefined) ?? 0) + value
      else if (value !== undefined) sums[name] = addedUp([...(before ? [before as object] : []), value as object])
    }
  }
  return sums as Counts
}
