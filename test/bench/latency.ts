import { median, shown } from './figures.ts'
import type { LoadResult } from './load-client.ts'
import { addedOver, callsTo, inTurn, type Subject, warm } from './measure.ts'
import { atMost, type Row, type SuiteResult, skipped, told } from './report.ts'
import type { Rig } from './rig.ts'
import { nginxKept, nginxPlain, subjectsFor } from './subjects.ts'

const bodyBytes = 5 * 1024

/** What a call costs in time when nothing else is under way: one connection that asks again as soon as it has its answer. */
export async function latency(rig: Rig): Promise<SuiteResult> {
  const { direct, none, six, folded, runner, nginx, bare, layerCount } = await subjectsFor(rig, rig.upstream.json)
  const { rounds, calls } = rig.options.durations
  for (const subject of [...bare, none, six, ...folded, ...runner]) await warm(rig, subject, { bodyBytes })
  const skip = Math.ceil(calls / 10)
  const measured = await inTurn(rounds, [direct, none, six, ...nginx, ...bare, ...runner, ...folded], (subject) =>
    rig.clients.load({ ...callsTo(subject, bodyBytes), connections: 1, calls: calls + skip, skip, forMs: 60_000 }),
  )
  const of = (subject: Subject): LoadResult[] => measured.get(subject.name) ?? []
  const added = (subject: Subject, what: 'p50' | 'p99'): number =>
    addedOver(of(subject), of(direct), (each) => each[what])
  const row = (subject: Subject, what: 'p50' | 'p99', limit: number): Row => {
    const value = added(subject, what)
    return atMost(`added ${what}, ${subject.name}`, value, { limit, unit: 'ms', reached: `${shown(value)} ms` })
  }
  const [alone] = runner
  const overRunner = (subject: Subject, what: 'p50' | 'p99', limit: number): Row => {
    const value = alone ? addedOver(of(subject), of(alone), (each) => each[what]) : Number.NaN
    return atMost(`added ${what} over the runner alone, ${subject.name}`, value, {
      limit,
      unit: 'ms',
      reached: `${shown(value)} ms`,
    })
  }
  const beside = [...nginx, ...bare].map((each) => told(`added p50, ${each.name}`, `${shown(added(each, 'p50'))} ms`))
  const missing = [nginxPlain, nginxKept].map((name) => skipped(`added p50, ${name}`, 'nginx not installed'))
  const middle = (what: 'p50' | 'p99'): string => shown(median(of(direct).map((each) => each[what])))
  const rows = [
    row(none, 'p50', 0.12),
    row(six, 'p50', 0.35),
    row(none, 'p99', 2),
    row(six, 'p99', 2),
    ...folded.flatMap((each) => [overRunner(each, 'p50', 0.15), overRunner(each, 'p99', 1)]),
    told('direct, p50 and p99', `${middle('p50')} and ${middle('p99')} ms`),
    ...(nginx.length > 0 ? [] : missing),
    ...beside,
    ...failures(measured),
  ]
  const method = `one connection, closed loop, all processes on one core, 5 KB each way, ${rounds} × ${calls} calls in turn; ${layerCount} layers there`
  return { title: 'latency', method, rows, measured: Object.fromEntries(measured) }
}

/** A row for every subject of which calls failed, since failed calls make numbers look good. */
export function failures(measured: ReadonlyMap<string, readonly { readonly failed: number }[]>): Row[] {
  return [...measured].flatMap(([name, rounds]) => {
    const failed = rounds.reduce((sum, each) => sum + each.failed, 0)
    if (failed === 0) return []
    return [{ what: `failed calls, ${name}`, target: 'none', reached: String(failed), verdict: 'miss' as const }]
  })
}
