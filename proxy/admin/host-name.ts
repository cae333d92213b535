import { isIP } from 'node:net'

/** A `Host` header taken apart: the name in lower case without brackets, and the port where one is given. */
export interface HostName {
  readonly name: string
  readonly port: string | undefined
}

/** Takes a `Host` header (RFC 9110 §7.2) apart; undefined when it is none. */
export function hostNameFromHeader(header: string): HostName | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/.exec(header)
  if (!match) return undefined
  return { name: (match[1] ?? match[2] ?? '').toLowerCase(), port: match[3] }
}

/** Whether a name or address means this machine only: `localhost`, 127.0.0.0/8, `::1`, also mapped into IPv6. */
export function isLoopbackName(name: string): boolean {
  const plain = plainAddress(name)
  return plain === 'localhost' || plain === '::1' || (isIP(plain) === 4 && plain.startsWith('127.'))
}

/** An address without the IPv6 form of an IPv4 one (RFC 4291 §2.5.5.2), in lower case. */
export function plainAddress(address: string): string {
  return address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '')
}
