import type { Socket } from 'node:net'
import { createEncoder } from './coding.ts'
import type { Reply, Step } from './reply.ts'
import { type Pacing, writeFlushed, writeSegments } from './segments.ts'

/** What a reply needs to know of the connection that it is played on. */
export interface Stage {
  readonly socket: Socket
  readonly pacing: Pacing | undefined
  /** Header lines about the connection itself, such as `Keep-Alive: timeout=5`. */
  readonly connectionLines: readonly string[]
  /** True for the answer to a HEAD request. */
  readonly headOnly: boolean
  /** Resolves when a stalled reply may go on, false when its connection died instead. */
  stall(step: Extract<Step, { kind: 'stall' }>): Promise<boolean>
  /** Told of every write of body or raw bytes. */
  sent(bytes: number): void
}

/** `whole`: played to its end. `hung-up`: it closed the connection itself. `broken`: the peer was gone first. */
export type Played = 'whole' | 'hung-up' | 'broken'

/** Plays a reply on a connection, step by step. */
export async function play(reply: Reply, stage: Stage): Promise<Played> {
  const steps = await encodedSteps(reply)
  const bodiless = isBodiless(reply, stage)
  const first = joinedWithHead(reply, steps, bodiless)
  if (reply.head && !(await write([Buffer.concat([headBytes(reply, steps, stage), ...first])], stage))) return 'broken'
  for (const step of first.length > 0 ? steps.slice(1) : steps) {
    if (bodiless && (step.kind === 'pieces' || step.kind === 'pour')) continue
    if (!(await playStep(step, reply, stage))) return 'broken'
    if (step.kind === 'reset' || step.kind === 'fin') return 'hung-up'
  }
  if (!reply.head || bodiless || reply.framing !== 'chunked') return 'whole'
  const trailers = reply.trailers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return (await write([Buffer.from(`0\r\n${trailers}\r\n`)], stage)) ? 'whole' : 'broken'
}

const write = (pieces: readonly Buffer[], stage: Stage) => writeSegments(stage.socket, pieces, stage.pacing)

/** A body of one piece and known length goes out with its head, as servers write it. */
function joinedWithHead(reply: Reply, steps: readonly Step[], bodiless: boolean): readonly Buffer[] {
  const [first] = steps
  if (bodiless || reply.framing !== 'length' || first?.kind !== 'pieces' || first.pieces.length !== 1) return []
  return first.pieces
}

async function playStep(step: Step, reply: Reply, stage: Stage): Promise<boolean> {
  const { socket } = stage
  switch (step.kind) {
    case 'pieces':
    case 'torn':
    case 'raw':
      return playPieces(framedPieces(step, reply.head && reply.framing), stage)
    case 'pour':
      return pour(step.source(), reply.framing === 'chunked', stage)
    case 'stall':
      return stage.stall(step)
    case 'delay':
      await new Promise((done) => setTimeout(done, step.ms))
      return !socket.destroyed
    case 'reset':
      socket.resetAndDestroy()
      return true
    case 'fin':
      socket.end()
      return true
  }
}

async function playPieces(pieces: readonly Buffer[], stage: Stage): Promise<boolean> {
  for (const piece of pieces) {
    if (!(await write([piece], stage))) return false
    stage.sent(piece.length)
  }
  return true
}

async function pour(
  source: Iterable<Buffer> | AsyncIterable<Buffer>,
  chunked: boolean,
  stage: Stage,
): Promise<boolean> {
  for await (const bytes of source) {
    const piece = chunked ? frame(bytes) : bytes
    if (!(await writeFlushed(stage.socket, piece))) return false
    stage.sent(piece.length)
  }
  return true
}

function framedPieces(
  step: Extract<Step, { kind: 'pieces' | 'torn' | 'raw' }>,
  framing: Reply['framing'] | undefined,
): readonly Buffer[] {
  if (step.kind === 'torn') {
    return framing === 'chunked' ? [Buffer.concat([sizeLine(step.claimed), step.bytes])] : [step.bytes]
  }
  if (step.kind === 'raw' || framing !== 'chunked') return step.pieces
  if (step.frames === 'each') return step.pieces.filter((piece) => piece.length > 0).map(frame)
  const whole = step.pieces.reduce((sum, piece) => sum + piece.length, 0)
  return step.pieces.map((piece, index) =>
    Buffer.concat(
      [index === 0 ? sizeLine(whole) : '', piece, index === step.pieces.length - 1 ? '\r\n' : ''].map((part) =>
        Buffer.from(part),
      ),
    ),
  )
}

const sizeLine = (size: number) => Buffer.from(`${size.toString(16)}\r\n`)
const frame = (bytes: Buffer) => Buffer.concat([sizeLine(bytes.length), bytes, Buffer.from('\r\n')])

async function encodedSteps(reply: Reply): Promise<readonly Step[]> {
  if (!reply.coding) return reply.steps
  const encoder = createEncoder(reply.coding)
  const steps: Step[] = []
  for (const step of reply.steps) {
    if (step.kind === 'pour' || step.kind === 'torn') throw new Error(`a compressed reply cannot ${step.kind}`)
    if (step.kind !== 'pieces') {
      steps.push(step)
      continue
    }
    const pieces: Buffer[] = []
    for (const piece of step.pieces) pieces.push(await encoder.push(piece))
    steps.push({ ...step, pieces })
  }
  return [...steps, { kind: 'pieces', pieces: [await encoder.end()], frames: 'each' }]
}

function isBodiless(reply: Reply, stage: Stage): boolean {
  const status = reply.head?.status ?? 200
  return stage.headOnly || status < 200 || status === 204 || status === 304
}

function headBytes(reply: Reply, steps: readonly Step[], stage: Stage): Buffer {
  const { status, reason, headers } = reply.head!
  const given = new Set(headers.map(([name]) => name.toLowerCase()))
  const lines = headers.map(([name, value]) => `${name}: ${value}`)
  const add = (name: string, value: string) => {
    if (!given.has(name.toLowerCase())) lines.push(`${name}: ${value}`)
  }
  if (reply.coding) add('Content-Encoding', reply.coding)
  if (!isBodiless(reply, stage) && reply.framing === 'length') add('Content-Length', String(bodyLength(steps)))
  if (!isBodiless(reply, stage) && reply.framing === 'chunked') add('Transfer-Encoding', 'chunked')
  for (const line of stage.connectionLines) {
    const colon = line.indexOf(':')
    add(line.slice(0, colon), line.slice(colon + 2))
  }
  return Buffer.from(`${[`HTTP/1.1 ${status} ${reason}`, ...lines].join('\r\n')}\r\n\r\n`, 'latin1')
}

function bodyLength(steps: readonly Step[]): number {
  const lengths = steps.flatMap((step) => {
    if (step.kind === 'torn') return [step.claimed]
    return step.kind === 'pieces' ? step.pieces.map((piece) => piece.length) : []
  })
  return lengths.reduce((sum, length) => sum + length, 0)
}
