import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { hopHeaders, internalHeaders, nominatedHeaders } from '../../plugins/headers.ts'
import type { AttemptSpan } from '../telemetry/call-span.ts'

const ours: ReadonlySet<string> = new Set(internalHeaders)
// Made anew for the connection that a message goes out on.
const framing: ReadonlySet<string> = new Set(['host', 'content-length', 'expect'])
const traces: ReadonlySet<string> = new Set(['traceparent', 'tracestate'])
const credentials: ReadonlySet<string> = new Set(['authorization', 'x-api-key', 'api-key'])

/** What the gateway says to the chain on its own behalf. Undefined: the caller's own goes on. */
export interface PutIn {
  /** The credential. */
  readonly key: string | undefined
  /** Trace headers, as pairs. */
  readonly trace: AttemptSpan['headers'] | undefined
}

/**
 * The headers of a call as they came, names and values in turn, for the chain that serves: without what is about one connection only (RFC
 * 9110 §7.6.1) and without names of ours. What is put in takes the place of the caller's own.
 */
export function headersToChain({ rawHeaders, headers, socket }: IncomingMessage, { key, trace }: PutIn): string[] {
  const nominated = nominatedHeaders(headers.connection)
  const out: string[] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] as string).toLowerCase()
    if (hopHeaders.has(name) || nominated.has(name) || ours.has(name) || framing.has(name)) continue
    if (name === 'x-forwarded-for' || (key !== undefined && credentials.has(name))) continue
    if (trace !== undefined && traces.has(name)) continue
    out.push(name, rawHeaders[at + 1] as string)
  }
  if (key !== undefined) out.push('authorization', `Bearer ${key}`)
  for (const [name, value] of trace ?? []) out.push(name, value)
  const before = headers['x-forwarded-for']
  out.push('x-forwarded-for', [...(before ? [before] : []), socket.remoteAddress ?? ''].join(', '))
  return out
}

/** The headers of the chain's answer for the caller: all but those of one connection, its length, and names of ours. Cookies stay a list. */
export function headersFromChain(headers: IncomingHttpHeaders): Record<string, string> {
  const nominated = nominatedHeaders(headers.connection)
  const out: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || hopHeaders.has(name) || nominated.has(name) || ours.has(name)) continue
    if (name !== 'content-length') out[name] = value
  }
  return out as Record<string, string>
}
