import { type BareItem, serializeList, Token } from 'structured-headers'

/** Why a call went further in (RFC 9211 §2.2). */
export type Forward = 'bypass' | 'miss' | 'request'

/** `Cache-Status` of an answer from the cache (RFC 9211 §2.1, §2.4); `ttlMs` is the time it has left. */
export function hitStatus(ttlMs: number): string {
  return `${hit};ttl=${Math.floor(ttlMs / 1000)}`
}

/** `Cache-Status` of a call that waited for an identical one and got its answer (RFC 9211 §2.6). */
export function collapsedStatus(ttlMs: number): string {
  return `${collapsed};ttl=${Math.floor(ttlMs / 1000)}`
}

const forwarded = new Map<string, string>()

/** `Cache-Status` of a call that was asked further in (RFC 9211 §2.2, §2.8). `detail` is one of our own closed lists. */
export function forwardStatus(fwd: Forward, detail?: string): string {
  const name = `${fwd} ${detail ?? ''}`
  let status = forwarded.get(name)
  if (status === undefined) {
    status = statusOf({ fwd: new Token(fwd), ...(detail === undefined ? {} : { detail: new Token(detail) }) })
    forwarded.set(name, status)
  }
  return status
}

/** The header with our member behind those of caches further in (RFC 9211 §2). */
export function withStatus(before: string | undefined, status: string): Readonly<Record<string, string>> {
  return { 'cache-status': before ? `${before}, ${status}` : status }
}

/** Our member of the list (RFC 9651), under the cache's name. */
function statusOf(parameters: Readonly<Record<string, BareItem>>): string {
  return serializeList([[new Token('Foldgate'), new Map(Object.entries(parameters))]])
}

const hit = statusOf({ hit: true })
const collapsed = statusOf({ fwd: new Token('miss'), collapsed: true })

/** `Cache-Status` of a curated answer, which has no end. */
export const pinnedStatus = statusOf({ hit: true, detail: new Token('pinned') })
