import type { ErrorCode, GatewayError } from '../plugins/errors.ts'

// RFC 9209 §2.3: the registered proxy error types that say what went wrong between the gateway and a runner.
const types: Partial<Record<ErrorCode, string>> = {
  runner_unreachable: 'destination_unavailable',
  runner_timeout: 'http_response_timeout',
  runner_error: 'http_response_incomplete',
  runner_protocol: 'http_protocol_error',
  runner_credential: 'http_request_denied',
  no_capacity: 'connection_limit_reached',
}

/** The `Proxy-Status` header of a failure on the runner's side; nothing for any other. */
export function proxyStatusHeader(error: GatewayError): Readonly<Record<string, string>> {
  const type = types[error.code]
  return type ? { 'proxy-status': `foldgate;error=${type}` } : {}
}
