import { median, shown } from './figures.ts'
import { failures } from './latency.ts'
import { cpuSeconds } from './machine.ts'
import { addedOver, callsTo, inTurn, type SaturatedRound, type Subject, saturateOnce, warm } from './measure.ts'
import { atLeast, atMost, type Row, type SuiteResult, told } from './report.ts'
import type { Rig } from './rig.ts'
import type { StreamResult } from './stream-client.ts'
import { subjectsFor } from './subjects.ts'
import { floodEvents } from './upstream-streams.ts'

const bodyBytes = 5 * 1024
const floodStreams = 96
const manyStreams = 512
const paceMs = 50

/** What streams cost: events a second, stalls, and what a token waits. */
export async function sse(rig: Rig): Promise<SuiteResult> {
  const flood = await flooded(rig)
  const many = await paced(rig, { upstream: rig.upstream.paced, streams: manyStreams, times: 1 })
  const few = await paced(rig, { upstream: rig.upstream.brisk, streams: 4, times: rig.options.durations.rounds })
  const method = `a write for every event; events a second: ${floodStreams} streams, an event a millisecond each, per second of CPU; stalls: ${manyStreams} streams at ${paceMs} ms; waits: 4 streams at 10 ms, against the upstream itself`
  return {
    title: 'sse',
    method,
    rows: [...flood.rows, ...stallRows(many), ...waitRows(few)],
    measured: [flood.measured, many.measured, few.measured].map((each) => Object.fromEntries(each)),
  }
}

async function flooded(rig: Rig) {
  const { direct, none, six } = await subjectsFor(rig, rig.upstream.flood)
  const { rounds, roundMs } = rig.options.durations
  for (const subject of [none, six]) await warm(rig, subject, { bodyBytes, stream: true })
  const measured = await inTurn(rounds, [direct, none, six], (subject) =>
    saturateOnce(rig, subject, {
      ...callsTo(subject, bodyBytes),
      stream: true,
      connections: floodStreams,
      // Streams that are under way at the end do not count, so a round must hold many of them.
      forMs: Math.max(roundMs, 3000),
    }),
  )
  const of = (subject: Subject): SaturatedRound[] => measured.get(subject.name) ?? []
  const row = (subject: Subject, what: string, limit: number): Row => {
    const value = median(of(subject).map(({ calls, cpu }) => (calls * floodEvents) / cpu))
    const clock = median(of(subject).map(({ calls, seconds }) => (calls * floodEvents) / seconds))
    const used = Math.round(median(of(subject).map(({ cpu, seconds }) => cpu / seconds)) * 100)
    const reached = `${shown(value)} events/s`
    const note = `by the clock ${shown(clock)}, core ${used} % used`
    return atLeast(what, value, { limit, unit: 'events/s', reached, note })
  }
  const plain = median(of(direct).map(({ calls, seconds }) => (calls * floodEvents) / seconds))
  const rows = [
    row(none, 'events a core, spliced', 60_000),
    row(six, 'events a core, six layers', 20_000),
    told('events, upstream itself', `${shown(plain)} events/s`),
    ...failures(measured),
  ]
  return { rows, measured }
}

interface PacedPlan {
  readonly upstream: number
  readonly streams: number
  readonly times: number
}

type Paced = Awaited<ReturnType<typeof paced>>

async function paced(rig: Rig, { upstream, streams, times }: PacedPlan) {
  const { direct, none, six } = await subjectsFor(rig, upstream)
  const forMs = Math.max(rig.options.durations.roundMs, 2000)
  const read = async (subject: Subject, ms: number) => {
    const before = subject.pid === undefined ? Number.NaN : cpuSeconds(subject.pid)
    const result = await rig.clients.streams({ ...callsTo(subject, bodyBytes), streams, forMs: ms })
    return { ...result, cpu: (subject.pid === undefined ? Number.NaN : cpuSeconds(subject.pid)) - before }
  }
  // With few streams hardly a call is made: without many before, code would be measured that is not compiled yet.
  for (const subject of [none, six]) await warm(rig, subject, { bodyBytes, stream: true, connections: 256 })
  const measured = await inTurn(times, [direct, none, six], (subject) => read(subject, forMs))
  return { direct, none, six, measured }
}

function stallRows({ direct, none, six, measured }: Paced): Row[] {
  const of = (subject: Subject) => measured.get(subject.name)?.[0]
  const limit = 10 * paceMs
  const row = (subject: Subject): Row => {
    const { gapMost, gapP50, transitP99, tokens, cpu } = of(subject) ?? ({} as NonNullable<ReturnType<typeof of>>)
    const each = Number.isNaN(cpu) ? '' : `, ${shown((cpu / tokens) * 1e6)} µs CPU a token`
    const reached = `${shown(gapMost)} ms`
    const note = `usual gap ${shown(gapP50)} ms, p99 of a token's way ${shown(transitP99)} ms${each}`
    return atMost(`longest gap of ${manyStreams} streams, ${subject.name}`, gapMost, {
      limit,
      unit: 'ms',
      reached,
      note,
    })
  }
  const plain = of(direct)
  return [
    row(none),
    row(six),
    told(`longest gap of ${manyStreams} streams, direct`, `${shown(plain?.gapMost ?? Number.NaN)} ms`),
    ...failures(measured),
  ]
}

function waitRows({ direct, none, six, measured }: Paced): Row[] {
  const of = (subject: Subject): StreamResult[] => measured.get(subject.name) ?? []
  const added = (subject: Subject, what: keyof StreamResult): number =>
    addedOver(of(subject), of(direct), (each) => each[what])
  const rows = [none, six].flatMap((subject) => {
    const first = added(subject, 'firstP50')
    const gap = added(subject, 'gapP90')
    const late = `p99 ${shown(added(subject, 'firstP99'))} ms`
    const way = `a token's way: p50 ${shown(added(subject, 'transitP50'))}, p90 ${shown(added(subject, 'transitP90'))} ms added`
    return [
      atMost(`added time to first token, ${subject.name}`, first, {
        limit: 1,
        unit: 'ms',
        reached: `${shown(first)} ms`,
        note: late,
      }),
      atMost(`added inter-token p90, ${subject.name}`, gap, {
        limit: 0.5,
        unit: 'ms',
        reached: `${shown(gap)} ms`,
        note: way,
      }),
    ]
  })
  return [...rows, ...failures(measured)]
}
