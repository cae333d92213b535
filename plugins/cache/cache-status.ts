import { type BareItem, serializeList, Token } from 'structured-headers'

/** The cache's name in `Cache-Status`. */
const cacheName = new Token('Foldgate')

/** Why a call went further in (RFC 9211 §2.2). */
export type Forward = 'bypass' | 'miss' | 'request'

/** `Cache-Status` of an answer from the cache (RFC 9211 §2.1, §2.4, §2.8); `ttlMs` is the time it has left. */
export function hitStatus(ttlMs?: number, detail?: string): string {
  const parts: [string, BareItem][] = [['hit', true]]
  if (ttlMs !== undefined) parts.push(['ttl', Math.floor(ttlMs / 1000)])
  if (detail !== undefined) parts.push(['detail', new Token(detail)])
  return serializeList([[cacheName, new Map(parts)]])
}

/** `Cache-Status` of a call that waited for an identical one and got its answer (RFC 9211 §2.6). */
export function collapsedStatus(ttlMs: number): string {
  const parts: [string, BareItem][] = [
    ['fwd', new Token('miss')],
    ['ttl', Math.floor(ttlMs / 1000)],
    ['collapsed', true],
  ]
  return serializeList([[cacheName, new Map(parts)]])
}

const forwarded = new Map<string, string>()

/** `Cache-Status` of a call that was asked further in. `detail` is one of our own closed lists. */
export function forwardStatus(fwd: Forward, detail?: string): string {
  const name = `${fwd} ${detail ?? ''}`
  let status = forwarded.get(name)
  if (status === undefined) {
    const parts: [string, BareItem][] = [['fwd', new Token(fwd)]]
    if (detail !== undefined) parts.push(['detail', new Token(detail)])
    status = serializeList([[cacheName, new Map(parts)]])
    forwarded.set(name, status)
  }
  return status
}

/** The header with our member behind those of caches further in (RFC 9211 §2). */
export function withStatus(before: string | undefined, status: string): Readonly<Record<string, string>> {
  return { 'cache-status': before ? `${before}, ${status}` : status }
}
