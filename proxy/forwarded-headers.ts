import type { IncomingHttpHeaders } from 'node:http'
import { credentialHeaders, nominatedHeaders } from '../plugins/headers.ts'

// What a caller may say to a runner on a path that is passed through. Everything else stays here: an allow-list cannot forget a credential.
const allowed: ReadonlySet<string> = new Set([
  'accept',
  'accept-language',
  'content-encoding',
  'content-language',
  'content-length',
  'content-type',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'idempotency-key',
  'range',
  'transfer-encoding',
  'user-agent',
  'x-request-id',
])
const allowedFamilies = /^(?:openai-|anthropic-|x-stainless-|sec-websocket-)/

/** The headers of a request that go on to a runner when its path is passed through. */
export function forwardedHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const nominated = nominatedHeaders(headers.connection)
  const out: IncomingHttpHeaders = {}
  for (const [name, value] of Object.entries(headers)) {
    if (credentialHeaders.has(name) || (nominated.has(name) && !framing.has(name))) continue
    if (allowed.has(name) || allowedFamilies.test(name)) out[name] = value
  }
  return out
}

const framing = new Set(['content-length', 'transfer-encoding'])
