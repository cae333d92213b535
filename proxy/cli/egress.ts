import { gatewayError } from '../../plugins/errors.ts'

/**
 * Whether a runner started with these hosts, each `host` (whatever the port) or `host:port`, opens connections to a URL's host; the port of
 * the scheme counts where a URL names none. Throws `usage` for one that is neither.
 */
export function egressFrom(hosts: readonly string[]): (url: string) => boolean {
  const allowed = hosts.map(allowedFrom)
  return (text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined
    if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return false
    const port = Number(url.port || (url.protocol === 'http:' ? 80 : 443))
    return allowed.some((host) => host.name === url.hostname && (host.port === undefined || host.port === port))
  }
}

interface Allowed {
  readonly name: string
  /** Undefined: whatever the port. */
  readonly port: number | undefined
}

function allowedFrom(host: string): Allowed {
  const url = URL.canParse(`http://${host}`) ? new URL(`http://${host}`) : undefined
  if (!url?.hostname || url.href !== `${url.origin}/`)
    throw gatewayError('usage', `--egress takes host or host:port, not ${JSON.stringify(host.slice(0, 80))}`)
  const port = /:(\d+)$/.exec(host)?.[1]
  return { name: url.hostname, port: port === undefined ? undefined : Number(port) }
}
