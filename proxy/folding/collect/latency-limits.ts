import type { Arm, RolloutStep } from '../rollout/evidence-counts.ts'
import { mergedHistograms, type TimeHistogram } from './histogram.ts'

/** Times to the first byte that one process has taken in the present step, by arm and stratum. Cumulative, as a flush is. */
export interface LatencyFlush {
  readonly replica: string
  readonly boot: string
  readonly seq: number
  readonly step: RolloutStep
  /** Texts of histograms, by stratum. */
  readonly arms: Readonly<Record<Arm, Readonly<Record<string, string>>>>
}

/** p95 and p99 of the control when the step began, in milliseconds, by stratum. `*` is all strata together. Frozen: another value is another rollout. */
export type LatencyLimits = Readonly<Record<string, { readonly q95Ms: number; readonly q99Ms: number }>>

/** Limits of strata that have none of their own. */
export const anyStratum = '*'
/** Fewer times than this are no limit. */
export const fewestTimes = 200

/** The limits that a control's times come to. Strata with fewer than 200 have none of their own. */
export function limitsFrom(control: Readonly<Record<string, TimeHistogram>>): LatencyLimits {
  const limits: Record<string, { q95Ms: number; q99Ms: number }> = {}
  const all = mergedHistograms(Object.values(control).map((each) => each.text()))
  for (const [stratum, times] of [...Object.entries(control), [anyStratum, all] as const]) {
    if (times.count >= fewestTimes) limits[stratum] = { q95Ms: times.percentile(95), q99Ms: times.percentile(99) }
  }
  return limits
}

/** The limits that the controls of several processes come to together; of each process the last flush counts. */
export function limitsFromFlushes(flushes: Iterable<LatencyFlush>): LatencyLimits {
  const latest = latestOf(flushes)
  const strata = new Set(latest.flatMap(({ arms }) => Object.keys(arms.control)))
  const control = [...strata].map((stratum) => {
    const texts = latest.flatMap(({ arms }) => arms.control[stratum] ?? [])
    return [stratum, mergedHistograms(texts)] as const
  })
  return limitsFrom(Object.fromEntries(control))
}

/** p99 of both arms over all strata, in milliseconds, and the calls of the smaller arm; undefined where one has none. For people, and one gate. */
export function p99FromFlushes(
  flushes: Iterable<LatencyFlush>,
): { readonly canaryMs: number; readonly controlMs: number; readonly calls: number } | undefined {
  const latest = latestOf(flushes)
  const of = (arm: Arm): TimeHistogram => mergedHistograms(latest.flatMap(({ arms }) => Object.values(arms[arm])))
  const [canary, control] = [of('canary'), of('control')]
  const calls = Math.min(canary.count, control.count)
  if (calls === 0) return undefined
  return { canaryMs: canary.percentile(99), controlMs: control.percentile(99), calls }
}

function latestOf(flushes: Iterable<LatencyFlush>): LatencyFlush[] {
  const latest = new Map<string, LatencyFlush>()
  for (const flush of flushes) {
    const key = `${flush.replica}\n${flush.boot}`
    if ((latest.get(key)?.seq ?? -1) < flush.seq) latest.set(key, flush)
  }
  return [...latest.values()]
}
