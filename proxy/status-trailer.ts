import type { IncomingMessage, ServerResponse } from 'node:http'
import { statusLine } from './own-headers.ts'
import type { Visit } from './visit.ts'

const announced = new WeakSet<ServerResponse>()

/**
 * What the head of a stream says of its trailer: the status line once more, for a caller that takes trailers (RFC 9110 §10.1.4) and a call in
 * which a layer at the runner acts until the end. Nothing for any other.
 */
export function announcedTrailer(visit: Visit): Readonly<Record<string, string>> {
  const { caller, setup } = visit
  if (!takesTrailers(caller.request) || !statusLine(visit).states.some(({ armed }) => armed)) return nothing
  announced.add(caller.response)
  return { trailer: setup.names.layerStatus }
}

/** The trailer that was announced: where every layer ran, now that all of them have spoken. */
export function statusTrailer(visit: Visit): Readonly<Record<string, string>> | undefined {
  if (!announced.has(visit.caller.response)) return undefined
  return { [visit.setup.names.layerStatus]: statusLine(visit).text }
}

const nothing: Readonly<Record<string, string>> = {}

/** Trailers need the chunked coding, which HTTP/1.0 does not know. */
function takesTrailers({ headers, httpVersion }: IncomingMessage): boolean {
  if (headers.te === undefined || httpVersion === '1.0') return false
  return String(headers.te)
    .split(',')
    .some((coding) => coding.trim().toLowerCase() === 'trailers')
}
