import { refusal } from './refusal.ts'

/** Tells whether connections to a URL's host are opened. Anything but http and https never is. */
export type Egress = (url: string) => boolean

/**
 * The hosts that an operator allows, each as `host` (whatever the port) or `host:port` (the port of the scheme counts where a URL names none).
 * Throws `invalid_value` for one that is neither.
 */
export function createEgress(hosts: readonly string[]): Egress {
  const anyPort = new Set<string>()
  const onePort = new Set<string>()
  for (const host of hosts) {
    const url = URL.canParse(`http://${host}`) ? new URL(`http://${host}`) : undefined
    if (!url || /[/?#@\\*]/.test(host) || url.href !== `${url.origin}/`)
      throw refusal('invalid_value', `an egress host reads host or host:port, not ${JSON.stringify(host)}`)
    const port = /:(\d+)$/.exec(host)?.[1]
    if (port === undefined) anyPort.add(url.hostname)
    else onePort.add(`${url.hostname}:${Number(port)}`)
  }
  return (text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined
    if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return false
    const port = url.port || (url.protocol === 'http:' ? '80' : '443')
    return anyPort.has(url.hostname) || onePort.has(`${url.hostname}:${port}`)
  }
}
