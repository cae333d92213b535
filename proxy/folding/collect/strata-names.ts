import type { CallKind } from './ended-call.ts'

/** The tiers that are not VIP. A tier that nobody knows is (`canary.md` §5); callers without one are not: they move with the crowd. */
const plainTiers: ReadonlySet<string> = new Set(['internal', 'free', 'standard', 'pro'])

/** Whether calls of a tier count as VIP traffic, which gets to a canary in its last step only: every tier but the four plain ones. */
export function isVipTier(tier: string): boolean {
  return tier !== '' && !plainTiers.has(tier)
}

const sizes: Readonly<Record<string, string>> = {
  '1k': 'size-small',
  '4k': 'size-small',
  '16k': 'size-medium',
  '64k': 'size-medium',
  '256k': 'size-large',
  more: 'size-large',
}

/** The strata of coverage that a call belongs to, by the names that gates ask for. Sizes: up to 4 KiB, up to 64 KiB, more. */
export function strataNames({ stream, tools, json, size, cacheHit }: Omit<CallKind, 'model'>, vip: boolean): string[] {
  const names = [stream ? 'stream' : 'non-stream', cacheHit ? 'cache-hit' : 'cache-miss']
  if (tools) names.push('tools')
  if (json) names.push('json')
  if (vip) names.push('vip')
  const named = sizes[size]
  if (named !== undefined) names.push(named)
  return names
}
