import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { isLoopback } from '../../../config/loopback.ts'

/** The addresses of a host name, in the system's order. Throws what the system says. */
export type Lookup = (host: string) => Promise<readonly string[]>

/** {@link Lookup} by the system's resolver: those of one family, that of the first, since a process that has both is one process. */
export const systemLookup: Lookup = async (host) => {
  const found = await lookup(host, { all: true })
  return found.filter(({ family }) => family === found[0]?.family).map(({ address }) => address)
}

/** The host name of a runner's URL that is looked up; undefined where the URL names an address, or this machine. */
export function nameIn(url: string): string | undefined {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
  return isIP(host) || isLoopback(host) ? undefined : host
}
