import { randomUUID } from 'node:crypto'
import { until } from '../support/gate.ts'
import { counterMark, requestBody } from './bodies.ts'
import { median, shown } from './figures.ts'
import { countingJson, createJsonCounts, type JsonCounts } from './json-counts.ts'
import { failures } from './latency.ts'
import { callsTo, inTurn, ratioOf, type SaturatedRound, type Subject, saturateOnce, warm } from './measure.ts'
import { atMost, type Row, type SuiteResult, told } from './report.ts'
import type { GatewayPlan, Rig, RunningGateway } from './rig.ts'

const connections = 64
// One length for all numbers of messages, so that only parsing could tell them apart; and a history of about 8,000 tokens.
const histories = [1, 10, 50, 200].map((messages) => ({
  messages,
  bodyBytes: 16 * 1024,
  what: messages === 1 ? 'one message' : `${messages} messages`,
}))
const longest = { messages: 80, bodyBytes: 36 * 1024, what: '8k tokens in 80 messages' }
const shapes = [...histories, longest]
const layerBytes = 5 * 1024

type Shape = (typeof shapes)[number]
interface Shaped extends Subject {
  readonly shape: Shape
}

const cost = ({ cpu, calls }: SaturatedRound): number => (cpu / calls) * 1e6

/** What folding is for: a gateway that neither reads nor writes bodies, whatever is in them. */
export async function folded(rig: Rig): Promise<SuiteResult> {
  const { rounds, roundMs } = rig.options.durations
  const lengths = await byLength(rig)
  const layers = await byLayer(rig)
  const rows = [...(await jsonRows(rig)), ...lengths.rows, ...layers.rows]
  const method = `CPU of the gateway a call, medians of ${rounds} × ${roundMs} ms in turn, ${connections} connections; the runner is scripted`
  const measured = Object.fromEntries([...lengths.measured, ...layers.measured])
  return { title: 'folded', method, rows: [...rows, ...failures(new Map(Object.entries(measured)))], measured }
}

/** All layers at the runner, or all of them here. */
async function plansOf(rig: Rig): Promise<Readonly<Record<'folded' | 'unfolded', GatewayPlan>>> {
  const { port: upstream, keyFile: native } = await rig.scriptedRunner()
  const { all: layers } = rig.layers
  return { folded: { layers, upstream, native }, unfolded: { layers, upstream: rig.upstream.json } }
}

const foldsWithinMs = 15_000

/** A gateway; one that is to fold does. Throws where it does not get there. */
async function started(rig: Rig, plan: GatewayPlan): Promise<RunningGateway> {
  const gateway = await rig.gateway(plan)
  if (plan.native) await until(() => isFolded(gateway, rig.layers.token), 'folded', foldsWithinMs)
  return gateway
}

async function isFolded({ port }: RunningGateway, token: string): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: requestBody(500).replace(counterMark, randomUUID().slice(0, counterMark.length)),
  })
  await answer.arrayBuffer()
  const states = answer.headers.get('x-layer-status') ?? ''
  return states.includes('by=runner') && !states.includes('by=gateway')
}

async function jsonRows(rig: Rig): Promise<Row[]> {
  const calls = 200
  const rows: Row[] = []
  for (const [name, plan] of Object.entries(await plansOf(rig))) {
    const { port, process } = await started(rig, { ...plan, nodeFlags: countingJson })
    const count = createJsonCounts(process)
    await count()
    const subject = { name, port, token: rig.layers.token, unique: true }
    for (const shape of [shapes[0] as Shape, longest]) {
      await rig.clients.load({ ...callsTo(subject, shape.bodyBytes), ...shape, connections: 1, calls, forMs: 60_000 })
      rows.push(...jsonRowsOf(`${name}, ${shape.what}`, await count(), calls))
    }
  }
  return rows
}

function jsonRowsOf(name: string, { parses, writes }: JsonCounts, calls: number): Row[] {
  const what = `parses and writes of a body a call, ${name}`
  const reached = `${shown(parses / calls)} and ${shown(writes / calls)}`
  if (!name.startsWith('folded')) return [told(what, reached)]
  // Probes of the runner are counted too, and come when they come.
  return [atMost(what, (parses + writes) / calls, { limit: 0.1, unit: 'of both', reached })]
}

interface Found {
  readonly rows: readonly Row[]
  readonly measured: ReadonlyMap<string, SaturatedRound[]>
}

async function byLength(rig: Rig): Promise<Found> {
  const subjects: Shaped[] = []
  for (const [kind, plan] of Object.entries(await plansOf(rig))) {
    const { port, pid } = await started(rig, plan)
    const subject = { port, pid, token: rig.layers.token, unique: true }
    await warm(rig, { ...subject, name: kind }, { bodyBytes: longest.bodyBytes })
    subjects.push(...shapes.map((shape) => ({ ...subject, name: `${kind}, ${shape.what}`, shape })))
  }
  const measured = await inTurn(rig.options.durations.rounds, subjects, (subject) =>
    saturateOnce(rig, subject, planOf(rig, subject as Shaped)),
  )
  const of = (name: string): SaturatedRound[] => measured.get(name) ?? []
  const first = (kind: string): SaturatedRound[] => of(`${kind}, ${(histories[0] as Shape).what}`)
  const rows = subjects.map(({ name, shape }) => {
    const kind = name.split(',')[0] as string
    const ratio = ratioOf(of(name), first(kind), cost)
    const reached = `${shown(median(of(name).map(cost)))} µs, ${shown(ratio)} × one message`
    const flat = kind === 'folded' && shape.messages > 1 && shape !== longest
    return flat ? atMost(name, ratio, { limit: 1.1, unit: '× one message', reached }) : told(name, reached)
  })
  return { rows, measured }
}

function planOf(rig: Rig, subject: Shaped) {
  const { bodyBytes, messages } = subject.shape
  return { ...callsTo(subject, bodyBytes), messages, connections, forMs: rig.options.durations.roundMs }
}

/** One gateway without layers, and for each layer one that has it and one that leaves it to the runner. */
async function byLayer(rig: Rig): Promise<Found> {
  const { port: upstream, keyFile: native } = await rig.scriptedRunner()
  const { all, token } = rig.layers
  const subjectOf = ({ port, pid }: RunningGateway, name: string) => ({ name, port, pid, token, unique: true })
  const none = subjectOf(await rig.gateway({ layers: {}, upstream }), 'no layer')
  const subjects: Subject[] = [none]
  for (const [name, section] of Object.entries(all)) {
    const layers = { [name]: section }
    subjects.push(subjectOf(await rig.gateway({ layers, upstream }), `${name} here`))
    subjects.push(subjectOf(await started(rig, { layers, upstream, native }), `${name} folded`))
  }
  for (const subject of subjects) await warm(rig, subject, { bodyBytes: layerBytes })
  const { rounds, roundMs } = rig.options.durations
  const measured = await inTurn(rounds, subjects, (subject) =>
    saturateOnce(rig, subject, { ...callsTo(subject, layerBytes), connections, forMs: roundMs }),
  )
  const added = (name: string): string => {
    const [mine, bare] = [measured.get(name) ?? [], measured.get(none.name) ?? []]
    return shown(median(mine.map((each, round) => cost(each) - cost(bare[round] as SaturatedRound))))
  }
  const rows = Object.keys(all).map((name) =>
    told(`${name} alone`, `here ${added(`${name} here`)} µs, folded ${added(`${name} folded`)} µs`, 'over no layer'),
  )
  return { rows, measured }
}
