import { connect as dial } from 'node:net'
import { createByteReader, type Ending } from './byte-reader.ts'
import { within } from './gate.ts'
import { type Bytes, bytesFrom, type HeaderInput, pairsFromHeaders } from './reply.ts'
import { type LiveResponse, type ReadingOptions, readResponse } from './response.ts'
import { writeSegments } from './segments.ts'

/** A request as it is to stand on the wire. */
export interface RequestInput {
  /** Default POST with a body, GET without. */
  readonly method?: string
  /** The request target, sent exactly as written; default the one of the URL that was dialled. */
  readonly path?: string
  /** `Host` and, with a body, `Content-Type: application/json` and `Content-Length` are added where they are missing. */
  readonly headers?: HeaderInput
  /** Text and bytes as they are; anything else as JSON. */
  readonly body?: unknown
  /** True: the body goes out as one chunked frame instead of with a length. */
  readonly chunked?: boolean
}

/** The raw client **C**: one connection, exact bytes, and every way to be a bad reader. */
export interface RawClient extends AsyncDisposable {
  /** Writes each piece as a segment of its own; false when the connection died first. */
  write(...pieces: Bytes[]): Promise<boolean>
  /** Writes one request in one segment; several in a row without reading are pipelined. */
  request(request: RequestInput): Promise<boolean>
  /** The next response, from its head on; rejects when the connection ends, or the patience does, without one. */
  response(options?: ReadingOptions & { readonly waitMs?: number }): Promise<LiveResponse>
  /** Stops reading: the kernel's buffers fill and the other side feels it. */
  pause(): void
  resume(): void
  /** Half-closes: no more bytes from here. */
  end(): void
  /** Resets the connection (RST). */
  vanish(): void
  /** Closes as an orderly client does. */
  close(): void
  /** Resolves with how the connection ended, and when. */
  closed(waitMs?: number): Promise<{ readonly how: Ending; readonly at: number }>
  /** Reads of the socket so far. */
  readonly reads: number
}

/** Opens a connection to the host and port of an `http://` URL; its path is the default target, never normalised. */
export async function connect(url: string): Promise<RawClient> {
  const [, host = '', port = '', target = ''] = /^http:\/\/([^:/]+):(\d+)(.*)$/.exec(url) ?? []
  const socket = dial({ host, port: Number(port), noDelay: true, allowHalfOpen: true })
  await new Promise<void>((done, fail) => socket.once('connect', done).once('error', fail))
  const reader = createByteReader(socket)
  const closed = reader.ending.then((how) => ({ how, at: performance.now() }))
  let turn: Promise<unknown> = Promise.resolve()
  const write = (...pieces: Bytes[]) => writeSegments(socket, pieces.map(bytesFrom))
  const defaults = { path: target || '/', host: `${host}:${port}` }
  return {
    write,
    request: (request) => write(requestBytes(request, defaults)),
    response: async ({ waitMs, ...options } = {}) => {
      const reading = turn.then(() => readResponse(reader, options))
      turn = reading.then((response) => response?.over)
      const response = await within(reading, () => 'a response begins', waitMs)
      if (!response) throw new Error(`the connection ended (${await reader.ending}) before a response`)
      return response
    },
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    end: () => void socket.end(),
    vanish: () => void socket.resetAndDestroy(),
    close: () => void socket.destroy(),
    closed: (waitMs) => within(closed, () => 'the connection closes', waitMs),
    get reads() {
      return reader.reads
    },
    [Symbol.asyncDispose]: async () => void socket.destroy(),
  }
}

/** A request's bytes. */
function requestBytes(request: RequestInput, defaults: { path: string; host: string }): Buffer {
  const { body, chunked } = request
  const isRaw = typeof body === 'string' || body instanceof Uint8Array
  const bytes = body === undefined ? Buffer.alloc(0) : bytesFrom(isRaw ? body : JSON.stringify(body))
  const pairs = [...pairsFromHeaders(request.headers ?? {})]
  const add = (name: string, value: string) => {
    if (!pairs.some(([given]) => given.toLowerCase() === name.toLowerCase())) pairs.push([name, value])
  }
  add('Host', defaults.host)
  if (body !== undefined) add('Content-Type', 'application/json')
  if (body !== undefined && chunked) add('Transfer-Encoding', 'chunked')
  else if (body !== undefined) add('Content-Length', String(bytes.length))
  const start = `${request.method ?? (body === undefined ? 'GET' : 'POST')} ${request.path ?? defaults.path} HTTP/1.1`
  const head = [start, ...pairs.map(([name, value]) => `${name}: ${value}`)].join('\r\n')
  const framed = chunked ? [`${bytes.length.toString(16)}\r\n`, bytes, '\r\n0\r\n\r\n'] : [bytes]
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`, 'latin1'), ...framed.map((part) => Buffer.from(part as string))])
}
