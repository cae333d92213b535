import { gatewayError } from '../../../plugins/errors.ts'
import type { RateTest } from './sprt.ts'

/**
 * Two latencies of the control, in milliseconds, frozen when a stage starts: a call slower than one of them is an event in *either* arm.
 * Which is compared as counts, because a ratio of two measured p99 is off by 10 % and more below 5,000 calls (`canary.md` §3.4).
 */
export interface FrozenLatency {
  readonly q95Ms: number
  readonly q99Ms: number
}

/** {@link FrozenLatency} from times of the control, in milliseconds. Throws `internal` for fewer than 100, which have no p99. */
export function frozenLatency(times: readonly number[]): FrozenLatency {
  if (times.length < 100) throw gatewayError('internal', 'fewer than 100 times give no p99')
  const sorted = Float64Array.from(times).sort()
  const at = (p: number): number => sorted[Math.ceil(p * sorted.length) - 1] as number
  return { q95Ms: at(0.95), q99Ms: at(0.99) }
}

/** Which events a call of this many milliseconds is. */
export function exceeded(
  ms: number,
  { q95Ms, q99Ms }: FrozenLatency,
): { readonly q95: boolean; readonly q99: boolean } {
  return { q95: ms > q95Ms, q99: ms > q99Ms }
}

/** Wald's tests on the share of slow calls: 5 → 8 % over the p95, 1 → 2 % over the p99. About what 20 % more latency do. */
export const exceedanceTests = {
  q95: { p0: 0.05, p1: 0.08, alpha: 0.01, beta: 0.1 },
  q99: { p0: 0.01, p1: 0.02, alpha: 0.01, beta: 0.1 },
} as const satisfies Record<string, RateTest>
