import type { Arm } from '../rollout/evidence-counts.ts'
import type { CallKind } from './ended-call.ts'
import { createTimeHistogram, type TimeHistogram } from './histogram.ts'
import { anyStratum, fewestTimes, type LatencyFlush, type LatencyLimits, limitsFrom } from './latency-limits.ts'
import { most, type Overflow } from './overflow.ts'

/** Times to the first byte in one rollout, against the limits that were frozen when its step began. */
export interface Latencies {
  /**
   * A step begins. Without limits they are taken from the control of the step before, as this process saw it; they stay as they are where
   * the same step begins anew, and where too little was seen. Where there are none at all, the first 200 times of the control are taken.
   */
  begin(given: LatencyLimits | undefined, anew: boolean): void
  /** Takes one time, and says which limits it exceeds; undefined: it does not count. */
  take(arm: Arm, kind: CallKind, ms: number): Exceeded | undefined
  readonly limits: LatencyLimits
  texts(): LatencyFlush['arms']
}

/** Which limits a time exceeds. */
export interface Exceeded {
  readonly q95: boolean
  readonly q99: boolean
}

const otherStratum = 'other'

/** Makes {@link Latencies}. The first `warmUp` times of the canary are dropped; beyond 48 strata all others are one. */
export function createLatencies(warmUp: number, overflow: Overflow): Latencies {
  let limits: LatencyLimits = {}
  let controls = 0
  let cold = warmUp
  let arms: Record<Arm, Record<string, TimeHistogram>> = { canary: {}, control: {} }
  const strata = new Set<string>()
  const stratumOf = (kind: CallKind): string => {
    const stratum = `${kind.stream ? 'stream' : 'document'} ${kind.size} ${kind.model}`
    if (strata.has(stratum)) return stratum
    if (strata.size >= most.strata) {
      overflow.add('strata')
      return otherStratum
    }
    strata.add(stratum)
    return stratum
  }
  return {
    begin(given, anew) {
      const own = anew ? {} : limitsFrom(arms.control)
      limits = given ?? (anyStratum in own ? own : limits)
      arms = { canary: {}, control: {} }
      controls = 0
    },
    take(arm, kind, ms) {
      if (arm === 'canary' && cold > 0) {
        cold--
        return undefined
      }
      const stratum = stratumOf(kind)
      arms[arm][stratum] ??= createTimeHistogram()
      arms[arm][stratum].add(ms)
      // Where no control was seen before the step, its first times are the limits: both arms are held against them alike.
      if (arm === 'control' && ++controls === fewestTimes && !(anyStratum in limits)) limits = limitsFrom(arms.control)
      const limit = limits[stratum] ?? limits[anyStratum]
      // Held against the limit as it was taken: within 1 %, in both arms alike.
      return limit && { q95: Math.round(ms) > limit.q95Ms, q99: Math.round(ms) > limit.q99Ms }
    },
    get limits() {
      return limits
    },
    texts: () => ({ canary: textsOf(arms.canary), control: textsOf(arms.control) }),
  }
}

function textsOf(histograms: Readonly<Record<string, TimeHistogram>>): Record<string, string> {
  return Object.fromEntries(Object.entries(histograms).map(([stratum, times]) => [stratum, times.text()]))
}
