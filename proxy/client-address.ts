import { BlockList, isIP } from 'node:net'

/** Tells whose `X-Forwarded-For` is believed. */
export interface TrustedProxies {
  trusts(address: string): boolean
  /**
   * The caller's address: the socket's, `peer` as {@link plainAddress} gives it, or behind trusted proxies the right-most one that no trusted
   * proxy wrote.
   */
  clientOf(peer: string, forwardedFor: string | undefined): string
}

/** Makes it from addresses and networks such as `10.0.0.0/8` or `::1`. Checked when the configuration is read. */
export function createTrustedProxies(networks: readonly string[]): TrustedProxies {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  const trusts = (address: string): boolean => {
    const family = isIP(address)
    return networks.length > 0 && family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4')
  }
  return {
    trusts,
    clientOf(peer, forwardedFor) {
      if (!forwardedFor || !trusts(peer)) return peer
      const hops = forwardedFor.split(',').map((hop) => plainAddress(hop.trim()))
      // What is not an address was not written by a proxy we know; nothing left of it can be believed.
      for (const hop of hops.toReversed()) if (!trusts(hop)) return isIP(hop) ? hop : peer
      return hops[0] ?? peer
    },
  }
}

/** An address without its port, brackets, zone or IPv4-in-IPv6 prefix. */
export function plainAddress(text: string): string {
  const bracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1]
  const address = bracketed ?? (/^[\d.]+:\d+$/.test(text) ? text.slice(0, text.indexOf(':')) : text)
  return address.replace(/%.*$/, '').replace(/^::ffff:(?=[\d.]+$)/i, '')
}
