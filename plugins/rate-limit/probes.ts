import type { Principal } from '../call.ts'
import type { LayerReads } from '../execution-context-facts.ts'
import type { Probe } from '../layer.ts'
import { unitsEach } from './bucket.ts'
import type { LimitConfig } from './config.ts'
import type { RateLimitStep } from './step.ts'

const step: RateLimitStep = {
  limits: [{ key_fields: ['tenant'], tokens_per_minute: 1_000, tiers: { vip: { tokens_per_minute: 5_000 } } }],
  tiers: {},
  cutStreams: false,
  leaseMs: 30_000,
  declared: [],
  asked: [],
}
const limited = (limit: Omit<LimitConfig, 'key_fields' | 'tiers'>): RateLimitStep => ({
  ...step,
  limits: [{ key_fields: ['tenant'], tiers: {}, ...limit }],
})
const body = (maxTokens: number): object => ({
  model: 'probe',
  messages: [{ role: 'user', content: 'ping' }],
  max_tokens: maxTokens,
})
/** As they stand for the side that decided: the estimate, and levels in whole tokens or requests. */
const reads = (...levels: readonly number[]): LayerReads => ({
  in: 10,
  out: 90,
  ...Object.fromEntries(levels.map((level, index) => [`q${index}`, level * unitsEach])),
})
const vip: Partial<Principal> = { tier: 'vip' }
const passes = { o: 'pass' } as const
const limits = { o: 'refuse', code: 'rate_limited' } as const

/** What a runner must say of calls whose limits stand as told. */
export const rateLimitProbes: readonly Probe<RateLimitStep>[] = [
  { title: 'a call that fits passes', step, body: body(90), reads: reads(0), expect: passes },
  { title: 'a call that just fits passes', step, body: body(90), reads: reads(900), expect: passes },
  { title: 'a call that is one token too much is refused', step, body: body(90), reads: reads(901), expect: limits },
  {
    title: 'a caller of another tier has its own amounts',
    step,
    body: body(90),
    principal: vip,
    reads: reads(901),
    expect: passes,
  },
  {
    title: 'a call that asks for more than there ever is can never fit',
    step,
    body: body(50_000),
    expect: { o: 'refuse', code: 'exceeds_rate_limit' },
  },
  {
    title: 'every limit must have room',
    step: { ...step, limits: [...step.limits, { key_fields: ['client_ip'], requests_per_minute: 5, tiers: {} }] },
    body: body(90),
    reads: reads(0, 5),
    expect: limits,
  },
  {
    title: 'a burst is smaller than what comes back in a minute',
    step: limited({ tokens_per_minute: 1_000, burst_capacity: 150 }),
    body: body(90),
    reads: reads(100),
    expect: limits,
  },
  {
    title: 'calls under way are bounded',
    step: limited({ concurrent: 2 }),
    body: body(90),
    reads: { q0: 2 },
    expect: limits,
  },
  {
    title: 'what the caller asks is a bucket beside the limit',
    step: { ...step, asked: [{ limit: 'tenant', tokens_per_minute: 200 }] },
    body: body(90),
    reads: reads(0, 150),
    expect: limits,
  },
]
