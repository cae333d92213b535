import type { RolloutView } from '../rollout/evidence.ts'
import { createDistinctSketch, type DistinctSketch, sketchFromText } from './distinct-sketch.ts'

/** A call that fell, or would fall, into the canary's share. */
export interface SeenCall {
  /** Hashes as on its span. */
  readonly unit: string
  readonly tenant: string
  /** Names of its strata of coverage. */
  readonly strata: readonly string[]
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** What one process has seen within the last 24 hours, to be put together with what others have. */
export interface SeenSketch {
  readonly replica: string
  /** When it was made, in milliseconds since the epoch. */
  readonly at: number
  readonly units: string
  readonly tenants: string
  /** Calls by stratum. */
  readonly strata: Readonly<Record<string, number>>
}

/** Distinct units and tenants, and calls by stratum, of the last 24 hours. */
export interface SeenUnits {
  add(call: SeenCall): void
  sketch(now: number): SeenSketch
}

interface Hour {
  readonly units: DistinctSketch
  readonly tenants: DistinctSketch
  readonly strata: Record<string, number>
}

const hourMs = 3_600_000
const hours = 24
/** Names of strata that are kept; there are nine. */
const mostStrata = 32

/**
 * Makes {@link SeenUnits}: a HyperLogLog an hour for each of units and tenants, 100 KB in all, standard error 2.3 %. It covers the hour that
 * has begun and the 23 before.
 */
export function createSeenUnits(replica: string): SeenUnits {
  const ring = new Map<number, Hour>()
  return {
    add({ unit, tenant, strata, at }) {
      const begins = Math.floor(at / hourMs)
      let hour = ring.get(begins)
      if (!hour) {
        hour = { units: createDistinctSketch(), tenants: createDistinctSketch(), strata: {} }
        ring.set(begins, hour)
        if (ring.size > hours) ring.delete(Math.min(...ring.keys()))
      }
      hour.units.add(unit)
      hour.tenants.add(tenant)
      for (const name of strata) {
        if (hour.strata[name] !== undefined) hour.strata[name]++
        else if (Object.keys(hour.strata).length < mostStrata) hour.strata[name] = 1
      }
    },
    sketch(now) {
      const first = Math.floor(now / hourMs) - hours + 1
      const all = [...ring].filter(([begins]) => begins >= first).map(([, hour]) => hour)
      return {
        replica,
        at: now,
        units: merged(all.map(({ units }) => units)).text(),
        tenants: merged(all.map(({ tenants }) => tenants)).text(),
        strata: sums(all.map(({ strata }) => strata)),
      }
    },
  }
}

/** What all replicas together have seen; of each the latest sketch counts. */
export function seenFromSketches(sketches: Iterable<SeenSketch>): RolloutView['seen'] {
  const latest = new Map<string, SeenSketch>()
  for (const sketch of sketches) {
    const known = latest.get(sketch.replica)
    if (!known || known.at < sketch.at) latest.set(sketch.replica, sketch)
  }
  const all = [...latest.values()]
  return {
    units: merged(all.map(({ units }) => sketchFromText(units))).count(),
    tenants: merged(all.map(({ tenants }) => sketchFromText(tenants))).count(),
    strata: sums(all.map(({ strata }) => strata)),
  }
}

function merged(sketches: readonly DistinctSketch[]): DistinctSketch {
  const sum = createDistinctSketch()
  for (const each of sketches) sum.merge(each)
  return sum
}

function sums(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sum: Record<string, number> = {}
  for (const counts of all) for (const [name, count] of Object.entries(counts)) sum[name] = (sum[name] ?? 0) + count
  return sum
}
