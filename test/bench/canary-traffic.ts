import { createPicker, normal, type Random, zipfShares } from '../support/random.ts'
import type { CanaryModel } from './canary-model.ts'

/** One arm of one simulated rollout. */
export interface SimulatedArm {
  /** Share of all calls, 0 to 1. */
  readonly share: number
  /** How much more often than the average its healthy calls are bad: 1 unless tenants differ. */
  readonly factor: number
  readonly tenants: number
  /** Draws the tenant of a bad call. */
  pick(): number
}

/** Both arms, as one draw of the tenants gives them. */
export interface SimulatedArms {
  readonly canary: SimulatedArm
  readonly control: SimulatedArm
}

/** Draws who is in the canary at this share of units. Where no tenant falls into it, the lowest bucket is taken, as the gateway does. */
export function drawArms(random: Random, model: CanaryModel, share: number): SimulatedArms {
  const calls = zipfShares(model.tenants, model.zipf)
  const own = calls.map((each) => each * Math.exp(model.spread * normal(random)))
  // The service's rate is that of all of its tenants: what the gateway froze was measured on them.
  const all = own.reduce((sum, each) => sum + each, 0)
  const bad = own.map((each) => each / all)
  if (model.unit === 'conversation') {
    const pick = createPicker(random, bad)
    const both = { factor: 1, tenants: model.tenants, pick }
    return { canary: { ...both, share }, control: { ...both, share: 1 - share } }
  }
  const buckets = calls.map(() => random())
  const lowest = Math.min(...buckets)
  const inside = (tenant: number): boolean => buckets[tenant]! < Math.max(share, lowest * 1.000_001)
  const arm = (is: (tenant: number) => boolean): SimulatedArm => {
    const members = calls.flatMap((_, tenant) => (is(tenant) ? [tenant] : []))
    const sum = (of: readonly number[]): number => members.reduce((all, tenant) => all + of[tenant]!, 0)
    const pick = createPicker(
      random,
      members.map((tenant) => bad[tenant]!),
    )
    return {
      share: sum(calls),
      factor: members.length === 0 ? 0 : sum(bad) / sum(calls),
      tenants: members.length,
      pick: () => members[pick()]!,
    }
  }
  return { canary: arm(inside), control: arm((tenant) => !inside(tenant)) }
}
