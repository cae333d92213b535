/** Status and OpenAI `type` of every refusal a runner gives. The list is closed. */
const table = {
  invalid_json: [400, 'invalid_request_error'],
  invalid_value: [400, 'invalid_request_error'],
  missing_parameter: [400, 'invalid_request_error'],
  unsupported_parameter: [400, 'invalid_request_error'],
  context_length_exceeded: [400, 'invalid_request_error'],
  invalid_api_key: [401, 'authentication_error'],
  model_not_found: [404, 'invalid_request_error'],
  unknown_url: [404, 'invalid_request_error'],
  method_not_allowed: [405, 'invalid_request_error'],
  request_too_large: [413, 'invalid_request_error'],
  unsupported_media_type: [415, 'invalid_request_error'],
  queue_full: [429, 'rate_limit_error'],
  client_closed: [499, 'invalid_request_error'],
  internal_error: [500, 'server_error'],
  engine_failed: [500, 'server_error'],
  upstream_refused: [502, 'upstream_error'],
  upstream_failed: [502, 'upstream_error'],
  engine_unavailable: [503, 'server_error'],
  native_unavailable: [503, 'server_error'],
  model_unavailable: [503, 'server_error'],
  shutting_down: [503, 'server_error'],
  upstream_timeout: [504, 'upstream_error'],
} as const

/** What went wrong, in one word from the closed table. */
export type RefusalCode = keyof typeof table

/** What a refusal may say beside its code and message. */
export interface RefusalDetail {
  /** Path of the member at fault, such as `messages[0].role`. */
  readonly param?: string
  /** Seconds after which trying again makes sense; becomes `Retry-After`. */
  readonly retryAfterSeconds?: number
  /** Status instead of the table's: what an engine behind us answered. */
  readonly status?: number
  /** The whole error object of an engine behind us, passed on as it came. */
  readonly passed?: Readonly<Record<string, unknown>>
  /** The failure underneath. */
  readonly cause?: unknown
}

/** A call the runner will not or cannot serve, as an error that knows its HTTP status. */
export interface Refusal extends Error {
  readonly code: RefusalCode
  readonly status: number
  readonly detail: RefusalDetail
}

/** Makes a refusal; the message is lower case and names the thing. */
export function refusal(code: RefusalCode, message: string, detail: RefusalDetail = {}): Refusal {
  const error = new Error(message, detail.cause === undefined ? undefined : { cause: detail.cause })
  return Object.assign(error, { name: 'Refusal', code, status: detail.status ?? table[code][0], detail })
}

/** Whether something caught is a refusal already. */
export function isRefusal(error: unknown): error is Refusal {
  return error instanceof Error && error.name === 'Refusal' && 'code' in error && (error.code as string) in table
}

/** Anything caught as a refusal: refusals stay, the rest becomes `internal_error` without its message. */
export function refusalFrom(error: unknown): Refusal {
  return isRefusal(error) ? error : refusal('internal_error', 'the runner failed on this call', { cause: error })
}

/** The error body in the OpenAI dialect: `{ error: { message, type, param, code } }`. */
export function bodyFromRefusal(error: Refusal): { error: Readonly<Record<string, unknown>> } {
  if (error.detail.passed) return { error: error.detail.passed }
  const { message, code, detail } = error
  return { error: { message, type: table[code][1], param: detail.param ?? null, code } }
}

/** The headers a refusal is answered with: `Retry-After` (RFC 9110 §10.2.3), and for a 401 how to authenticate. */
export function headersFromRefusal({ status, detail: { retryAfterSeconds } }: Refusal): Record<string, string> {
  return {
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
  }
}
