import { median, shown } from './figures.ts'
import { failures } from './latency.ts'
import { callsTo, inTurn, ratioOf, type SaturatedRound, type Subject, saturateOnce, warm } from './measure.ts'
import { atLeast, type Row, type SuiteResult, skipped, told } from './report.ts'
import type { Rig } from './rig.ts'
import { nginxKept, nginxPlain, subjectsFor } from './subjects.ts'

const bodyBytes = 5 * 1024
const connections = 64

const wall = ({ calls, seconds }: SaturatedRound): number => calls / seconds
const perCpu = ({ calls, cpu }: SaturatedRound): number => calls / cpu

/** What goes through when one core is all there is. */
export async function saturated(rig: Rig): Promise<SuiteResult> {
  const { direct, none, six, hit, folded, nginx, bare } = await subjectsFor(rig, rig.upstream.json)
  const { rounds, roundMs } = rig.options.durations
  for (const subject of [...bare, none, six, hit, ...folded]) await warm(rig, subject, { bodyBytes })
  const measured = await inTurn(rounds, [direct, ...nginx, ...bare, none, six, hit, ...folded], (subject) =>
    saturateOnce(rig, subject, { ...callsTo(subject, bodyBytes), connections, forMs: roundMs }),
  )
  const of = (subject: Subject | undefined): SaturatedRound[] => measured.get(subject?.name ?? '') ?? []
  const against = (mine: Subject, other: Subject, limit: number): Row => {
    const value = ratioOf(of(mine), of(other), perCpu)
    return atLeast(`${mine.name} ÷ ${other.name}`, value, {
      limit,
      unit: '×',
      reached: `${shown(value)} ×`,
      note: `by the clock ${shown(ratioOf(of(mine), of(other), wall))} ×`,
    })
  }
  const toNginx = nginx.flatMap((each) => [
    against(none, each, 0.55),
    against(six, each, 0.25),
    ...folded.map((mine) => against(mine, each, 0.5)),
  ])
  const missing = [nginxPlain, nginxKept].map((name) => skipped(`÷ ${name}`, 'nginx not installed'))
  const rows = [
    ...(nginx.length > 0 ? toNginx : missing),
    against(hit, six, 1.5),
    ...[direct, ...nginx, ...bare, none, six, hit, ...folded].map((each) => rates(each, of(each))),
    ...failures(measured),
  ]
  const method = `requests per second of CPU of the process under test, medians of ${rounds} × ${roundMs} ms in turn; ${connections} connections, 5 KB each way, load from ${rig.clients.generator}`
  return { title: 'saturated', method, rows, measured: Object.fromEntries(measured) }
}

function rates({ name }: Subject, rounds: readonly SaturatedRound[]): Row {
  const used = median(rounds.map(({ cpu, seconds }) => cpu / seconds))
  const micros = median(rounds.map(({ cpu, calls }) => (cpu / calls) * 1e6))
  const cpu = Number.isNaN(micros) ? '' : `, ${shown(micros)} µs CPU each, core ${Math.round(used * 100)} % used`
  return told(name, `${shown(median(rounds.map(wall)))} requests/s${cpu}`)
}
