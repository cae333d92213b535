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
