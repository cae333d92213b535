import { setTimeout as sleep } from 'node:timers/promises'
import { shown } from './figures.ts'
import { residentBytes } from './machine.ts'
import { callsTo, type Subject } from './measure.ts'
import { atMost, type Row, type SuiteResult } from './report.ts'
import type { Rig } from './rig.ts'

const connections = 1500
const bodyBytes = 150 * 1024
const mebibyte = 1024 * 1024

/** Memory at rest, and what is left of a burst of large bodies. */
export async function memory(rig: Rig): Promise<SuiteResult> {
  const { all, token } = rig.layers
  const upstream = rig.upstream.held
  const none = await rig.gateway({ layers: {}, upstream })
  const six = await rig.gateway({ layers: all, upstream })
  const subjects = [
    { name: 'no layer', port: none.port, pid: none.pid, unique: true },
    { name: 'six layers', port: six.port, pid: six.pid, token, unique: true },
  ]
  const seen = await Promise.all(subjects.map((subject, index) => watch(rig, subject, index)))
  const calm = rig.options.durations.calmMs / 1000
  const method = `${connections} connections at once, a body of ${bodyBytes / 1024} KiB each; looked at ${calm} s later, with the connections closed`
  return { title: 'memory', method, rows: seen.flatMap(rowsOf), measured: seen }
}

interface Seen {
  readonly name: string
  readonly idle: number
  readonly most: number
  readonly after: number
  readonly failed: number
}

async function watch(rig: Rig, subject: Subject & { pid: number }, index: number): Promise<Seen> {
  // One after the other, so that both are at rest when they are looked at for the first time.
  await sleep(3000 + index * 8000)
  const idle = residentBytes(subject.pid)
  let most = idle
  const watching = setInterval(() => {
    most = Math.max(most, residentBytes(subject.pid))
  }, 50)
  const plan = { ...callsTo(subject, bodyBytes), connections, calls: connections, forMs: 120_000 }
  const { failed } = await rig.clients.load(plan)
  clearInterval(watching)
  await sleep(rig.options.durations.calmMs)
  return { name: subject.name, idle, most, after: residentBytes(subject.pid), failed }
}

function rowsOf({ name, idle, most, after, failed }: Seen): Row[] {
  const mib = (bytes: number): string => `${shown(bytes / mebibyte)} MiB`
  const times = after / idle
  return [
    atMost(`idle, ${name}`, idle / 1e6, { limit: 120, unit: 'MB', reached: `${shown(idle / 1e6)} MB` }),
    atMost(`after the burst, ${name}`, times, {
      limit: 1.5,
      unit: '× idle',
      reached: `${shown(times)} ×`,
      note: `${mib(after)}; ${mib(most)} at the height${failed ? `; ${failed} calls failed` : ''}`,
    }),
  ]
}
