import type { IncomingHttpHeaders } from 'node:http'
import type { HeaderNames } from '../plugins/headers.ts'

/** Request headers whose arrival is told to whoever asks: those that mean something to the gateway. */
export function checkedHeaders(names: HeaderNames): readonly string[] {
  const { conversationId, debug, cacheHint, batchHint, deadlineMs } = names
  return ['x-request-id', 'traceparent', 'te', conversationId, debug, cacheHint, batchHint, deadlineMs]
}

// What asks bears so many hex digits of the asker's own.
const nonce = /^[0-9a-f]{32}$/
// Their values hold the asker's digits when they come through as they were.
const bearing: ReadonlySet<string> = new Set(['x-request-id', 'traceparent'])

/**
 * Which of the checked headers have arrived, as a dictionary (RFC 9651): `nonce`, `saw`, and `changed` for those that came with another
 * value than was sent. Undefined when nobody asks. It tells names of a closed list only.
 */
export function checkAnswer(headers: IncomingHttpHeaders, names: HeaderNames): string | undefined {
  const asked = headers[names.check]
  if (typeof asked !== 'string' || !nonce.test(asked)) return undefined
  const saw = checkedHeaders(names).filter((name) => headers[name] !== undefined)
  const holds = (name: string): boolean => String(headers[name]).includes(asked)
  const changed = saw.filter((name) => (bearing.has(name) || name === names.conversationId) && !holds(name))
  return `nonce="${asked}", saw=${innerList(saw)}, changed=${innerList(changed)}`
}

function innerList(names: readonly string[]): string {
  return `(${names.map((name) => `"${name}"`).join(' ')})`
}
