import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { type GatewayError, gatewayError } from '../../plugins/errors.ts'
import { forwardedHeaders } from '../forwarded-headers.ts'
import { outwardHeaders } from '../runner-reply.ts'
import type { Passage } from './passthrough.ts'
import {
  awaitAnswer,
  beginPassingSpan,
  openPassingLine,
  passedHeaders,
  passingError,
  runnersFault,
} from './passthrough-line.ts'

/** The one upgrade that is passed on. Any other is an offer that may be ignored. */
export function isWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket'
}

/** A socket that asks for another protocol, and what has already arrived on it. */
export interface Upgrade {
  readonly socket: Duplex
  readonly head: Buffer
  /** From now on somebody reads it. */
  unwatched(): void
}

/**
 * Watches a socket that nobody reads: Node has taken its own listeners off, so a reset would end the process, and a caller that leaves
 * would not be noticed. Takes nothing away. Gives back what to call once somebody reads.
 */
export function watchHangUp(socket: Duplex): () => void {
  const hungUp = (): void => void socket.destroy()
  const look = (): void => {
    if (socket.readableLength === 0) socket.read()
  }
  socket.on('error', hungUp)
  socket.on('end', hungUp)
  socket.on('readable', look)
  return () => {
    socket.off('end', hungUp)
    socket.off('readable', look)
  }
}

/** Hands a WebSocket to http-proxy. Resolves when both its sides are closed; throws `runner_*` while the handshake can still be refused. */
export async function passUpgrade(passage: Passage, upgrade: Upgrade): Promise<void> {
  const { visit, path } = passage
  const { request, response, signal } = visit.caller
  const { socket, head, unwatched } = upgrade
  if (!isWebSocket(request)) throw gatewayError('invalid_request', 'only WebSocket upgrades are passed on')
  const { createProxyServer } = await import('http-proxy')
  if (socket.destroyed) throw gatewayError('client_closed', 'the caller went away')
  const line = openPassingLine(passage)
  const span = beginPassingSpan(passage, line)
  const own = { ...span.headers, connection: 'Upgrade', upgrade: 'websocket' }
  request.headers = { ...forwardedHeaders(request.headers), ...own }
  request.url = path.raw
  const server = createProxyServer(line.options)
  response.detachSocket(socket as never)
  // The gateway leaves, or the time is up: nothing else ends a socket that is no longer the listener's.
  const cut = (): void => void socket.destroy()
  signal.addEventListener('abort', cut)
  return new Promise((resolve, reject) => {
    let patience: ReturnType<typeof awaitAnswer> | undefined
    socket.on('close', () => {
      line.leave('unknown')
      span.end({ status: response.statusCode })
      resolve()
    })
    server.on('proxyReqWs', (outgoing) => {
      patience = awaitAnswer(outgoing, line.runner.firstByteTimeoutMs)
      socket.on('close', () => outgoing.destroy())
      outgoing.prependListener('upgrade', (answer) => {
        unwatched()
        patience?.stop()
        line.leave('healthy')
        response.statusCode = 101
        answer.headers = switchedHeaders(answer.headers, passage)
      })
      outgoing.prependListener('response', (answer) => {
        patience?.stop()
        line.leave('healthy')
        response.statusCode = answer.statusCode ?? 502
        answer.headers = refusedHeaders(answer.headers, passage)
      })
    })
    server.ws(request, socket as never, head, {}, (error) => {
      const fault = passingError(error, passage, patience?.timedOut ?? false)
      line.leave(runnersFault(fault) ? 'failed' : 'unknown')
      span.end({ error: fault.code })
      signal.removeEventListener('abort', cut)
      if (response.statusCode !== 101 && socket.writable) socket.write(refusal(fault, passage))
      reject(fault)
    })
  })
}

function switchedHeaders(answer: IncomingHttpHeaders, passage: Passage): Record<string, string> {
  const handshake = Object.entries(answer).filter(([name]) => name.startsWith('sec-websocket-'))
  const { connection: _close, ...own } = passedHeaders(passage)
  return {
    connection: 'Upgrade',
    upgrade: 'websocket',
    ...(Object.fromEntries(handshake) as Record<string, string>),
    ...own,
  }
}

function refusedHeaders(answer: IncomingHttpHeaders, passage: Passage): Record<string, string> {
  const type = answer['content-type']
  const length = answer['content-length']
  return {
    ...outwardHeaders(answer, passage.visit.setup.names),
    ...(type ? { 'content-type': type } : {}),
    ...(length ? { 'content-length': length } : {}),
    ...passedHeaders(passage),
    connection: 'close',
  }
}

function refusal(error: GatewayError, passage: Passage): string {
  const { dialect } = passage.visit.kind
  const body = JSON.stringify(dialect.errorBody(error, passage.visit.caller.requestId))
  const headers = {
    ...passedHeaders(passage),
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? 'Refused'}\r\n${lines.join('')}\r\n${body}`
}
