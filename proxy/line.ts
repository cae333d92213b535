import { isIP, type LookupFunction } from 'node:net'
import { Client, type Dispatcher, Pool } from 'undici'
import type { Route } from '../plugins/chat.ts'
import type { ReuseWatch } from './exchange.ts'
import { basePath, type RunnerSettings } from './runner-settings.ts'

/** The line to one runner: its connections, and what was learned about it. */
export interface Line {
  readonly settings: RunnerSettings
  readonly pool: Dispatcher & { destroy(): Promise<void> }
  readonly base: string
  readonly address: string
  readonly port: number
  /** The one address that it goes to, where the name of the runner has several. */
  readonly peer?: string
  /** Headers of every call to it, names and values in turn, the API key among them. */
  readonly headers: readonly string[]
  /** The same without the API key: for calls that bear an execution context. */
  readonly contextHeaders: readonly string[]
  /** Learned: this server refuses `stream_options`. */
  refusesUsage: boolean
}

/**
 * Opens the line; no connection is made before the first call. Time-outs are set here and hold for every request on it. `peer` is the one
 * address that it goes to where its name has several: `Host` and the name in the certificate stay those of the URL.
 */
export function openLine(settings: RunnerSettings, peer?: string): Line {
  const { hostname, port, protocol } = new URL(settings.url)
  const place = { address: hostname, port: Number(port) || (protocol === 'https:' ? 443 : 80) }
  const pool = new Pool(new URL(settings.url).origin, {
    connections: settings.maxConnections || null,
    pipelining: 1,
    factory: (origin, options) => new Connection(origin, options as Client.Options),
    keepAliveTimeout: settings.keepAliveMs,
    keepAliveMaxTimeout: settings.keepAliveMs,
    headersTimeout: settings.firstByteTimeoutMs,
    bodyTimeout: settings.idleTimeoutMs,
    connect: { timeout: settings.connectTimeoutMs, ...settings.tls, ...(peer ? { lookup: only(peer) } : {}) },
  })
  const client = ['accept-encoding', 'identity', 'user-agent', 'foldgate']
  const key = settings.apiKey ? ['authorization', `Bearer ${settings.apiKey}`] : []
  const extra = Object.entries(settings.headers ?? {}).flat()
  return {
    settings,
    pool,
    base: basePath(settings.url),
    ...place,
    ...(peer ? { peer } : {}),
    headers: [...client, ...key, ...extra],
    contextHeaders: [...client, ...extra],
    refusesUsage: settings.includeUsage === 'never',
  }
}

/** Names are not asked about: whatever the name, it is this address. */
function only(address: string): LookupFunction {
  const family = isIP(address)
  return (_, { all }, done) => (all ? done(null, [{ address, family }]) : done(null, address, family))
}

// A class because it is one of undici's: a connection that says, before a request goes out on it, whether it has served others.
class Connection extends Client {
  override dispatch(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler & Partial<ReuseWatch>,
  ): boolean {
    if (handler.reused !== undefined) handler.reused = this.stats.connected
    return super.dispatch(options, handler)
  }
}

/** Where a runner answers the calls of each route. */
export const runnerPaths: Readonly<Record<Route, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/chat/completions',
  completions: '/v1/completions',
  embeddings: '/v1/embeddings',
  models: '/v1/models',
  passthrough: '/',
}
