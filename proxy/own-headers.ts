import type { GatewayError } from '../plugins/errors.ts'
import { layerStatus } from './layer-status.ts'
import type { Visit } from './visit.ts'

/** The headers of ours that an answer carries: where every layer ran, what it took, and for those allowed, how long each was. */
export function ownHeaders({ record, setup, caller }: Visit, draining: boolean): Record<string, string> {
  const { names, config, layerNames } = setup
  const reached = new Set(record.layers.map((layer) => layer.name))
  const buffered = record.call !== undefined && setup.buffers(record.call)
  const states = layerNames.map((name) => ({
    name,
    reached: reached.has(name),
    buffered: buffered && name === 'postprocess',
  }))
  const elapsed = record.elapsedMs()
  const headers: Record<string, string> = {
    [names.layerStatus]: layerStatus(states, config.headers.layerStatus),
    [names.executionTime]: micros(elapsed),
    [names.gatewayOverhead]: micros(elapsed - record.runnerMs),
  }
  if (draining) headers['connection'] = 'close'
  if (caller.request.headers[names.debug] && mayDebug(record.call?.facts.principal?.scopes, config.access.debugScope)) {
    headers['server-timing'] = record.layers
      .map(({ name, decideMs }) => `${name};dur=${decideMs.toFixed(3)}`)
      .join(', ')
  }
  return headers
}

function mayDebug(scopes: readonly string[] | undefined, scope: string | null): boolean {
  return scope !== null && (scopes?.includes(scope) ?? false)
}

function micros(ms: number): string {
  return String(Math.max(0, Math.round(ms * 1000)))
}

/** `Proxy-Status` (RFC 9209) for a failure that a runner caused; undefined for any other. */
export function proxyStatus(error: GatewayError): string | undefined {
  const type = proxyErrors[error.code]
  return type ? `foldgate; error=${type}` : undefined
}

const proxyErrors: Partial<Record<GatewayError['code'], string>> = {
  runner_unreachable: 'destination_unavailable',
  runner_timeout: 'http_response_timeout',
  runner_error: 'http_response_incomplete',
  runner_protocol: 'http_protocol_error',
  runner_credential: 'http_request_denied',
  no_capacity: 'connection_limit_reached',
}
