import { type GatewayError, gatewayError } from '../plugins/errors.ts'

const unreachable = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
])
const timeouts = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

/** What undici or a socket reports, as our error. Addresses and URLs stay in `cause`, for the log. */
export function runnerError(error: Error): GatewayError {
  const code = (error as NodeJS.ErrnoException).code ?? ''
  if (unreachable.has(code))
    return gatewayError('runner_unreachable', 'the runner cannot be reached', { cause: error, retryAfterMs: 1000 })
  if (code === 'UND_ERR_HEADERS_TIMEOUT')
    return gatewayError('runner_timeout', 'the runner did not begin to answer in time', { cause: error })
  if (timeouts.has(code))
    return gatewayError('runner_timeout', 'the runner fell silent in the middle of its answer', { cause: error })
  if (code === 'UND_ERR_ABORTED') return gatewayError('client_closed', 'the call was given up', { cause: error })
  return gatewayError('runner_error', 'the connection to the runner broke', { cause: error })
}
