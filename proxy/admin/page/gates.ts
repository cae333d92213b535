import type { Gate } from '../../folding/rollout/gate.ts'
import type { PageGate } from './page-snapshot.ts'
import { figure, ms, percent } from './say.ts'

type Unit = 'number' | 'percent' | 'duration'

/** What gates are called on the page, and in what they are measured. */
const gateWords: Readonly<Record<string, readonly [string, Unit]>> = {
  calls: ['calls that the runner decided', 'number'],
  units: ['callers or conversations', 'number'],
  tenants: ['tenants', 'number'],
  dwell: ['time at this step', 'duration'],
  errors: ['error rate, log likelihood ratio', 'number'],
  'errors-relative': ['errors beside the control, log e-value', 'number'],
  mismatches: ['acknowledgements that do not match', 'number'],
  fallbacks: ['fallbacks, upper bound', 'percent'],
  failures: ['failures, upper bound', 'percent'],
  cusum: ['drift of errors, CUSUM', 'number'],
  'latency-relative': ['latency beside the control, log e-value', 'number'],
  'over-p95': ['slower than the control’s p95, upper bound', 'percent'],
  'over-p99': ['slower than the control’s p99, upper bound', 'percent'],
  'p99-ratio': ['p99 beside the control', 'number'],
  telemetry: ['calls accounted for', 'percent'],
  incident: ['known trouble everywhere', 'number'],
  ignores: ['ignore rules that block', 'number'],
  differences: ['hard differences, upper bound', 'percent'],
  compared: ['of what could be compared', 'percent'],
  answers: ['whole answers that differ, log e-value', 'number'],
  leaks: ['leaks', 'number'],
}

/** A gate as people read it. */
export function pageGateFrom({ name, value, threshold, at, n, needs, met }: Gate): PageGate {
  const [what, stratum] = name.split(':')
  const [words, unit] =
    stratum === undefined
      ? (gateWords[name] ?? [name, 'number' as const])
      : [`${stratum} calls ${what}`, 'number' as const]
  return {
    name: words,
    measured: sayIn(unit, value),
    threshold: `at ${at} ${sayIn(unit, threshold)}`,
    seen: n,
    needs,
    met,
  }
}

function sayIn(unit: Unit, value: number): string {
  if (Math.abs(value) === Number.MAX_VALUE) return figure(value)
  if (unit === 'duration') return ms(value)
  return unit === 'percent' ? percent(value) : figure(value)
}
