import type { Chunk } from './chat.ts'
import { type ErrorCode, type GatewayError, gatewayError } from './errors.ts'

/** The error that a chunk or a whole answer reports though its status was 200; undefined for any other. */
export function errorInChunk(chunk: Chunk): GatewayError | undefined {
  if (chunk.error !== undefined && chunk.error !== null) return reportedError(chunk.error)
  // Some servers send the error itself in place of an answer.
  return chunk.object === 'error' ? reportedError(chunk) : undefined
}

/**
 * An error object that a runner sent after it had said 200, as our error: its message is kept, cut to 500 characters, with its code
 * behind it, and the code decides what kind of error it is.
 */
export function reportedError(error: unknown): GatewayError {
  const said = typeof error === 'object' && error !== null ? (error as Reported) : { message: error }
  const text = typeof said.message === 'string' && said.message ? said.message : 'the runner reported an error'
  const word = typeof said.code === 'string' || typeof said.code === 'number' ? ` (${said.code})` : ''
  const message = text.slice(0, 500) + word.slice(0, 100)
  if (said.code === 'context_length_exceeded') return gatewayError('context_length_exceeded', message)
  return errorFromStatus(statusOf(said.code) ?? statusOf(said.status), message)
}

interface Reported {
  readonly message?: unknown
  readonly code?: unknown
  readonly status?: unknown
}

function statusOf(value: unknown): number | undefined {
  const number = typeof value === 'string' ? Number(value) : value
  return typeof number === 'number' && Number.isInteger(number) && number >= 400 && number < 600 ? number : undefined
}

const kinds: Readonly<Record<number, ErrorCode>> = {
  401: 'runner_credential',
  403: 'runner_credential',
  408: 'runner_timeout',
  429: 'rate_limited',
  503: 'no_capacity',
  504: 'runner_timeout',
}

function errorFromStatus(status: number | undefined, message: string): GatewayError {
  const code = kinds[status ?? 500] ?? (status !== undefined && status < 500 ? 'invalid_request' : 'runner_error')
  if (code === 'invalid_request' && status) return gatewayError(code, message, { status })
  return gatewayError(code, message, code === 'rate_limited' || code === 'no_capacity' ? { retryAfterMs: 1000 } : {})
}
