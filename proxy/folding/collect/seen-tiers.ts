import type { RolloutView } from '../rollout/evidence.ts'
import { createSeenUnits, type SeenCall, type SeenSketch, type SeenUnits, seenFromSketches } from './seen-units.ts'

/** {@link SeenUnits} by tier, since each tier has a share of its own. */
export interface SeenTiers {
  add(tier: string, call: SeenCall): void
  sketches(now: number): SeenSketches
}

/** What one process has seen, by tier. */
export type SeenSketches = Readonly<Record<string, SeenSketch>>

const mostTiers = 16
const otherTiers = '*'

/** Makes {@link SeenTiers}; of more than 16 tiers the others are one. */
export function createSeenTiers(replica: string): SeenTiers {
  const tiers = new Map<string, SeenUnits>()
  const pageOf = (tier: string): SeenUnits => {
    const name = tiers.has(tier) || tiers.size < mostTiers ? tier : otherTiers
    const known = tiers.get(name)
    if (known) return known
    const page = createSeenUnits(replica)
    tiers.set(name, page)
    return page
  }
  return {
    add: (tier, call) => pageOf(tier).add(call),
    sketches: (now) => Object.fromEntries([...tiers].map(([tier, page]) => [tier, page.sketch(now)])),
  }
}

/**
 * What all processes together have seen of what falls, or would fall, into the shares of a canary (0 to 1, by tier): hashes spread units
 * evenly, so that a share of the units is as good as those units.
 */
export function seenWithin(share: (tier: string) => number, all: readonly SeenSketches[]): RolloutView['seen'] {
  const tiers = new Set(all.flatMap((sketches) => Object.keys(sketches)))
  let [units, tenants] = [0, 0]
  const strata: Record<string, number> = {}
  for (const tier of tiers) {
    const within = share(tier)
    const seen = seenFromSketches(all.flatMap((sketches) => sketches[tier] ?? []))
    units += seen.units * within
    tenants += seen.tenants * within
    for (const [name, calls] of Object.entries(seen.strata)) strata[name] = (strata[name] ?? 0) + calls * within
  }
  return { units: Math.round(units), tenants: Math.round(tenants), strata: roundedAll(strata) }
}

/** What was seen at all stays seen: a stratum that nobody asks for is another matter than one that is rare. */
function roundedAll(strata: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(strata).map(([name, calls]) => [name, Math.ceil(calls)]))
}
