import { serializeItem } from 'structured-headers'
import type { HeaderNames } from '../../plugins/headers.ts'
import type { CallRecord } from '../call-record.ts'

/**
 * What a client is told beside where each layer ran: why layers fell back, or what was wrong with what it asked of them. Who is turned away as
 * unknown (401) is not told the latter: what is valid here is known to callers only.
 */
export function foldHeaders(record: CallRecord, names: HeaderNames, status: number): Record<string, string> {
  const { fold, directiveFault, misplacedDirectives } = record
  const headers: Record<string, string> = {}
  const fault = status === 401 ? undefined : (directiveFault ?? fold?.said?.acknowledgement.runner.dir)
  if (fold?.reason) headers[names.fallbackReason] = fold.reason
  else if (fault !== undefined) headers[names.fallbackReason] = `invalid_execution_context;path=${quoted(fault)}`
  else if (misplacedDirectives) headers[names.fallbackReason] = 'directives-in-header'
  if (fold?.said && fold.said.soft.length > 0) headers[names.compilationStatus] = 'soft'
  return headers
}

/** A text as a string of RFC 9651; what is not ASCII is left out. */
function quoted(text: string): string {
  return serializeItem(text.replace(/[^\x20-\x7e]/g, ''), new Map())
}
