import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { type ErrorCode, gatewayError, openaiErrorBody } from '../plugins/errors.ts'
import { bypassed } from './layer-status.ts'
import type { Rooms } from './rooms.ts'

const kinds: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  HPE_HEADER_OVERFLOW: ['header_fields_too_large', 'the request head is too large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['body_too_large', 'the chunk extensions of the request are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'the request did not arrive in time'],
}

// A connection is closed this long after its answer, in milliseconds, so that the answer is not lost with what is still being sent.
const lingerMs = 1000

/** Answers what is not HTTP, or has too large a head, or does not come to its end, and closes the connection. */
export function answerClientError(rooms: Rooms, error: Error & { code?: string }, socket: Socket): void {
  // What else arrives of a request that was answered already.
  if (socket.writableEnded && !socket.destroyed) return
  if (error.code === 'ECONNRESET' || !socket.writable || answering(socket)) return void socket.destroy()
  const [code, message] = kinds[error.code ?? ''] ?? ['invalid_request', 'the request is not valid HTTP']
  const fault = gatewayError(code, message)
  const body = JSON.stringify(openaiErrorBody(fault))
  const { names, statusBook } = rooms.setup()
  const head = [
    `HTTP/1.1 ${fault.status} ${STATUS_CODES[fault.status]}`,
    'content-type: application/json',
    `${names.layerStatus}: ${statusBook(() => bypassed).text}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  socket.setTimeout(lingerMs, () => socket.destroy())
}

/** An answer to an earlier request is on its way on this connection: anything written now would become part of it. */
function answering(socket: Socket): boolean {
  // Node's own mark; there is no public one.
  return (socket as Socket & { _httpMessage?: ServerResponse })._httpMessage?.headersSent ?? false
}
