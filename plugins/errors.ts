/** How one error is said: its HTTP status, its type in the OpenAI and the Anthropic dialect, and whether a retry can help. */
export interface ErrorKind {
  readonly status: number
  readonly openai: string
  readonly anthropic: string
  readonly retryable: boolean
}

const kind = (status: number, openai: string, anthropic: string, retryable = false): ErrorKind => ({
  status,
  openai,
  anthropic,
  retryable,
})
const invalid = (status = 400) => kind(status, 'invalid_request_error', 'invalid_request_error')
const server = (status: number, retryable = false) => kind(status, 'server_error', 'api_error', retryable)

/** Every error the product can say, by code. There are no others: a client sees the code, the status and the type. */
export const errorKinds = {
  invalid_json: invalid(),
  invalid_request: invalid(),
  invalid_path: invalid(),
  invalid_schema: invalid(),
  missing_variable: invalid(),
  context_length_exceeded: invalid(),
  exceeds_rate_limit: invalid(),
  unsatisfiable: invalid(),
  unauthenticated: kind(401, 'authentication_error', 'authentication_error'),
  forbidden: kind(403, 'permission_error', 'permission_error'),
  model_not_found: kind(404, 'not_found_error', 'not_found_error'),
  not_found: kind(404, 'not_found_error', 'not_found_error'),
  method_not_allowed: invalid(405),
  request_timeout: invalid(408),
  body_too_large: kind(413, 'invalid_request_error', 'request_too_large'),
  stage_refused: invalid(409),
  unsupported_media_type: invalid(415),
  output_invalid: invalid(422),
  header_fields_too_large: invalid(431),
  rate_limited: kind(429, 'rate_limit_error', 'rate_limit_error', true),
  client_closed: kind(499, 'client_closed', 'client_closed'),
  internal: server(500),
  runner_error: server(502, true),
  runner_protocol: server(502),
  runner_credential: server(502),
  runner_unreachable: kind(503, 'server_error', 'overloaded_error', true),
  auth_unavailable: kind(503, 'server_error', 'overloaded_error', true),
  no_capacity: kind(503, 'server_error', 'overloaded_error', true),
  store_lost: server(503, true),
  draining: kind(503, 'server_error', 'overloaded_error', true),
  runner_timeout: server(504, true),
  config_invalid: server(500),
  usage: server(500),
} as const satisfies Record<string, ErrorKind>

/** A code of the closed table above. */
export type ErrorCode = keyof typeof errorKinds

/** What an error may carry beside its message. */
export interface ErrorDetail {
  /** Path of the field that is at fault, such as `messages[0].role`. */
  readonly field?: string
  /** When a retry can help, in milliseconds from now; sent as `Retry-After` in whole seconds, at least 1. */
  readonly retryAfterMs?: number
  /** Headers that go out with the error, such as the rate-limit headers of a 429. */
  readonly headers?: Readonly<Record<string, string>>
  /** For `config_invalid` and schema faults: every fault found, not only the first. */
  readonly faults?: readonly Fault[]
  /** A status that overrides the table's, for an answer of a runner that is passed on. */
  readonly status?: number
  readonly cause?: unknown
}

/** One thing that is wrong with a value: where, and what would be right. */
export interface Fault {
  /** Dotted path inside the value; empty for the value itself. */
  readonly path: string
  readonly message: string
  /** 1-based line in the file the value came from, where there is one. */
  readonly line?: number
}

/** The only error the product throws. Its code decides status and wording in either dialect. */
export class GatewayError extends Error {
  readonly code: ErrorCode
  readonly detail: ErrorDetail
  constructor(code: ErrorCode, message: string, detail: ErrorDetail = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause })
    this.name = 'GatewayError'
    this.code = code
    this.detail = detail
  }
  /** The HTTP status this error is answered with. */
  get status(): number {
    return this.detail.status ?? errorKinds[this.code].status
  }
}

/** Makes a {@link GatewayError}. Messages are lower case and name the thing; they never quote a credential or a prompt. */
export function gatewayError(code: ErrorCode, message: string, detail?: ErrorDetail): GatewayError {
  return new GatewayError(code, message, detail)
}

/**
 * Whatever was thrown, as a {@link GatewayError}: itself when it is one, `client_closed` for an abort, else `fallback`
 * with a message that gives nothing away (the original stays as `cause`, for the log).
 */
export function gatewayErrorFrom(reason: unknown, fallback: ErrorCode = 'internal'): GatewayError {
  if (reason instanceof GatewayError) return reason
  if (reason instanceof Error && reason.name === 'AbortError') {
    return gatewayError('client_closed', 'the caller went away', { cause: reason })
  }
  // Only a body nested thousands of levels deep exhausts the stack; that is the caller's fault, not ours.
  if (reason instanceof RangeError && reason.message.includes('call stack')) {
    return gatewayError('invalid_request', 'the body is nested too deeply', { cause: reason })
  }
  return gatewayError(fallback, fallback === 'internal' ? 'internal error' : 'the runner failed', { cause: reason })
}

/** The error as a body in OpenAI's dialect. */
export function openaiErrorBody(error: GatewayError): { error: Record<string, unknown> } {
  const { openai } = errorKinds[error.code]
  return { error: { message: error.message, type: openai, param: error.detail.field ?? null, code: error.code } }
}

/** The error as a body in Anthropic's dialect. */
export function anthropicErrorBody(error: GatewayError, requestId?: string): Record<string, unknown> {
  const { anthropic } = errorKinds[error.code]
  return {
    type: 'error',
    error: { type: anthropic, message: error.message },
    ...(requestId ? { request_id: requestId } : {}),
  }
}

/** The headers an error is answered with: its own and `Retry-After` (RFC 9110 §10.2.3). */
export function errorHeaders(error: GatewayError): Record<string, string> {
  const after = error.detail.retryAfterMs
  return { ...error.detail.headers, ...(after === undefined ? {} : { 'retry-after': retryAfter(after) }) }
}

/** Milliseconds as the whole seconds of a `Retry-After` header, rounded up, at least 1. */
export function retryAfter(ms: number): string {
  return String(Math.max(1, Math.ceil(ms / 1000)))
}
