import type { StatusLine } from './layer-status.ts'
import type { Visit } from './visit.ts'

/** Where every layer ran in this call, as far as it has come. */
export function statusLine({ record: { layers, call }, setup }: Visit): StatusLine {
  if (layers.length === 0) return setup.statusBook(nobody, nobody)
  const asked = layers.map(({ name }) => name)
  const buffered = call ? asked.filter((name) => setup.acting.get(name)?.buffers?.(call)) : nobody
  return setup.statusBook(asked, buffered)
}
const nobody: readonly string[] = []

/** The headers of ours that an answer carries: where every layer ran, what it took, and for those allowed, how long each was. */
export function ownHeaders(visit: Visit, draining: boolean): Record<string, string> {
  const { record, setup, caller } = visit
  const { names, config } = setup
  const elapsed = record.elapsedMs()
  const headers: Record<string, string> = {}
  headers[names.layerStatus] = statusLine(visit).text
  headers[names.executionTime] = micros(elapsed)
  headers[names.gatewayOverhead] = micros(elapsed - record.runnerMs)
  if (draining) headers['connection'] = 'close'
  if (config.access.debugScope !== null && caller.request.headers[names.debug] !== undefined) {
    if (mayDebug(record.call?.facts.principal?.scopes, config.access.debugScope)) {
      headers['server-timing'] = record.layers
        .map(({ name, decideMs }) => `${name};dur=${decideMs.toFixed(3)}`)
        .join(', ')
    }
  }
  return headers
}

function mayDebug(scopes: readonly string[] | undefined, scope: string): boolean {
  return scopes?.includes(scope) ?? false
}

function micros(ms: number): string {
  return String(Math.max(0, Math.round(ms * 1000)))
}
