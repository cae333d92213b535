import { connect, type Socket } from 'node:net'
import { type BodyShape, counterMark, requestBody } from './bodies.ts'

/** What is sent, again and again. */
export interface CallPlan extends BodyShape {
  readonly port: number
  readonly token?: string
  readonly bodyBytes: number
  /** The number in the first body; absent: all bodies are equal. */
  readonly first?: number
}

/** Makes the bytes of one request after the other. The buffer is used again for the next one. */
export function createRequests(plan: CallPlan): () => Buffer {
  const body = requestBody(plan.bodyBytes, plan)
  const lines = [
    'POST /v1/chat/completions HTTP/1.1',
    `host: 127.0.0.1:${plan.port}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
    ...(plan.token ? [`authorization: Bearer ${plan.token}`] : []),
  ]
  const bytes = Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`)
  const at = bytes.indexOf(counterMark)
  let next = plan.first
  const number = (value: number): string => String(value).padStart(counterMark.length, '0')
  bytes.write(number(next ?? 0), at, 'latin1')
  return () => {
    if (next !== undefined) bytes.write(number(next++), at, 'latin1')
    return bytes
  }
}

/** An answer that has come whole. */
export interface WireAnswer {
  readonly status: number
  /** The other side closes the connection after it. */
  readonly closes: boolean
}

/** A connection that asks one thing at a time. */
export interface Wire {
  /** Rejects when the connection breaks. The bytes are copied, so the caller may use them again. */
  ask(bytes: Buffer): Promise<WireAnswer>
  close(): void
}

/** Opens a connection. `arrived` hears every piece of an answer as it comes. */
export async function openWire(port: number, arrived?: (bytes: Buffer) => void): Promise<Wire> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await new Promise<void>((done, fail) => socket.once('connect', done).once('error', fail))
  let reading: Reading | undefined
  const broke = (): void => reading?.fail(new Error('the connection broke'))
  socket.on('error', broke).on('close', broke)
  socket.on('data', (bytes: Buffer) => {
    arrived?.(bytes)
    const answer = reading?.take(bytes)
    if (answer) reading = undefined
  })
  return {
    ask: (bytes) =>
      new Promise((done, fail) => {
        reading = createReading(done, fail)
        write(socket, bytes)
      }),
    close: () => void socket.destroy(),
  }
}

function write(socket: Socket, bytes: Buffer): void {
  // What the kernel does not take at once stays with the socket, which must not see the next request in it.
  socket.write(bytes.length < 16_384 ? bytes : Buffer.from(bytes))
}

interface Reading {
  take(bytes: Buffer): WireAnswer | undefined
  fail(error: Error): void
}

const lastFrame = /(?:^|\r\n)0\r\n(?:[^\r\n]+\r\n)*\r\n$/

function createReading(done: (answer: WireAnswer) => void, fail: (error: Error) => void): Reading {
  let head = ''
  let status = 0
  let left = -1
  let tail = ''
  const begin = (bytes: Buffer): Buffer | undefined => {
    head += bytes.toString('latin1')
    const end = head.indexOf('\r\n\r\n')
    if (end === -1) return undefined
    const rest = Buffer.from(head.slice(end + 4), 'latin1')
    head = head.slice(0, end)
    status = Number(head.slice(9, 12))
    left = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? Number.NaN)
    return rest
  }
  const whole = (bytes: Buffer): boolean => {
    if (!Number.isNaN(left)) {
      left -= bytes.length
      return left <= 0
    }
    tail = (tail + bytes.toString('latin1', Math.max(0, bytes.length - 512))).slice(-512)
    return lastFrame.test(tail)
  }
  return {
    fail,
    take(bytes) {
      const rest = status === 0 ? begin(bytes) : bytes
      if (!rest || !whole(rest)) return undefined
      const answer = { status, closes: /\r\nconnection: *close/i.test(head) }
      done(answer)
      return answer
    },
  }
}
