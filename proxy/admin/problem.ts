import { STATUS_CODES } from 'node:http'
import { errorHeaders, type GatewayError } from '../../plugins/errors.ts'
import type { Answer } from './endpoint.ts'

/** An error as the admin port says it: problem details (RFC 9457). */
export function answerFromError(error: GatewayError): Answer {
  const { status, code, message, detail } = error
  const body = {
    type: `urn:foldgate:${code.replaceAll('_', '-')}`,
    title: STATUS_CODES[status] ?? code,
    status,
    detail: message,
    ...(detail.faults ? { faults: detail.faults } : {}),
  }
  return {
    status,
    contentType: 'application/problem+json',
    headers: errorHeaders(error),
    body: `${JSON.stringify(body)}\n`,
  }
}
