import { gatewayError } from '../../plugins/errors.ts'

/** What a Redis URL says. */
export interface RedisAddress {
  readonly host: string
  readonly port: number
  readonly username?: string
  readonly password?: string
  readonly db: number
  readonly tls: boolean
}

/**
 * A `redis://` or `rediss://` URL taken apart; user and password are percent-decoded. Throws `config_invalid`, never quoting the URL,
 * since it may hold a password.
 */
export function addressFromUrl(text: string, defaultPort = 6379): RedisAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const db = url?.pathname.replace(/^\//, '') || '0'
  if (!url || !/^rediss?:$/.test(url.protocol) || !url.hostname || !/^\d{1,5}$/.test(db)) {
    throw gatewayError('config_invalid', 'a store url must read redis://[user:password@]host[:port][/database]')
  }
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port ? Number(url.port) : defaultPort,
    ...(url.username ? { username: decoded(url.username) } : {}),
    ...(url.password ? { password: decoded(url.password) } : {}),
    db: Number(db),
    tls: url.protocol === 'rediss:',
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
