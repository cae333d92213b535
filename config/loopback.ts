import { isIP } from 'node:net'

/** Whether a host name or address means this machine only: `localhost`, 127.0.0.0/8, `::1`, brackets or not, mapped into IPv6 or not. */
export function isLoopback(host: string): boolean {
  const name = plainAddress(host.replace(/^\[|\]$/g, ''))
  return name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'))
}

/** An address without the IPv6 form of an IPv4 one (RFC 4291 §2.5.5.2), in lower case. */
export function plainAddress(address: string): string {
  return address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '')
}
