import type { IncomingHttpHeaders } from 'node:http'
import { refusal } from './refusal.ts'
import type { Asked } from './routes/route.ts'

/** A request as the server has read it. */
export interface Received {
  /** The bytes of the body; undefined when there is none. */
  readonly body: unknown
  readonly headers: IncomingHttpHeaders
  readonly params: unknown
}

const nothing = Buffer.alloc(0)

/** A request as routes see it: its bytes as they came, and the body they are, parsed once, on first use. */
export function askedFrom(request: Received, signal: AbortSignal): Asked {
  const came = request.body as Buffer | undefined
  let parsed: { readonly value: unknown } | undefined
  return {
    get body() {
      parsed ??= { value: came === undefined ? undefined : jsonFrom(came) }
      return parsed.value
    },
    raw: came ?? nothing,
    headers: headersFrom(request),
    params: request.params as Readonly<Record<string, string>>,
    signal,
  }
}

function headersFrom({ headers }: Received): Record<string, string> {
  const found: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) found[name] = Array.isArray(value) ? value.join(', ') : value
  return found
}

function jsonFrom(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch (error) {
    const why = error instanceof SyntaxError ? error.message : 'not UTF-8'
    throw refusal('invalid_json', `the body is not JSON: ${why}`)
  }
}
