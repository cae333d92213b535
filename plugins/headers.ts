/** Prefix of all our own headers unless `headers.prefix` says otherwise. */
export const defaultPrefix = 'x-'

/** Headers that travel between gateway and runner only. They never take the prefix, and are stripped from both outsides. */
export const internalHeaders = ['x-execution-context', 'x-layer-ack', 'x-layer-ack-end', 'x-caller-credential'] as const

/** The names under one prefix. */
export interface HeaderNames {
  readonly prefix: string
  readonly layerStatus: string
  readonly fallbackReason: string
  readonly compilationStatus: string
  readonly executionTime: string
  readonly gatewayOverhead: string
  readonly kvCacheHitRate: string
  readonly streamBufferSize: string
  readonly debug: string
  /** Asks which headers have arrived, and answers that. */
  readonly check: string
  readonly deprecatedLayers: string
  readonly override: string
  readonly conversationId: string
  readonly batchHint: string
  readonly cacheHint: string
  readonly deadlineMs: string
}

/** Every prefixed header name, for one prefix such as `x-` or `x-anthropic-`. */
export function headerNames(prefix: string = defaultPrefix): HeaderNames {
  return asKeys({
    prefix,
    layerStatus: `${prefix}layer-status`,
    fallbackReason: `${prefix}fallback-reason`,
    compilationStatus: `${prefix}compilation-status`,
    executionTime: `${prefix}execution-time`,
    gatewayOverhead: `${prefix}gateway-overhead`,
    kvCacheHitRate: `${prefix}kv-cache-hit-rate`,
    streamBufferSize: `${prefix}stream-buffer-size`,
    debug: `${prefix}foldgate-debug`,
    check: `${prefix}foldgate-check`,
    deprecatedLayers: `${prefix}deprecated-layers`,
    override: `${prefix}foldgate-override`,
    conversationId: `${prefix}conversation-id`,
    batchHint: `${prefix}batch-hint`,
    cacheHint: `${prefix}cache-hint`,
    deadlineMs: `${prefix}deadline-ms`,
  })
}

/** The same texts, as property names are kept: a text that was put together is looked up anew at each use as a key. */
function asKeys(names: HeaderNames): HeaderNames {
  const kept = Object.entries(names).map(([member, text]) => [member, Object.keys({ [text]: 0 })[0]])
  return Object.fromEntries(kept) as HeaderNames
}

/** Headers that belong to one hop (RFC 9110 §7.6.1) and are never forwarded, in either direction. */
export const hopHeaders: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
])

/** Request headers that carry a credential of the caller. None of them reaches a runner, a mirror, a log or a trace. */
export const credentialHeaders: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'cookie',
  'x-caller-credential',
])

/** The header names that a `Connection` value nominates as its own, in lower case. */
export function nominatedHeaders(connection: string | undefined): ReadonlySet<string> {
  if (!connection || connection === 'keep-alive') return nothing
  return new Set(connection.split(',').map((name) => name.trim().toLowerCase()))
}
const nothing: ReadonlySet<string> = new Set()

/** What streams carry so that no proxy on the way buffers, stores or transforms them. */
export const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
} as const
