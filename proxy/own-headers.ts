import type { Head } from './answer.ts'
import { deprecatedHeaders } from './deprecated-layers.ts'
import { foldHeaders } from './folding/fold-headers.ts'
import { stateFromFold } from './folding/states.ts'
import { checkAnswer } from './header-checks.ts'
import { bypassed, marks, type StatusLine, stateCode } from './layer-status.ts'
import type { Privileged } from './privileged.ts'
import { serverTiming } from './server-timing.ts'
import type { Visit } from './visit.ts'

/** Where every layer ran in this call, as far as it has come. */
export function statusLine({ record: { layers, call, fold }, setup }: Visit): StatusLine {
  const buffers = (name: string): boolean => call !== undefined && (setup.acting.get(name)?.buffers?.(call) ?? false)
  return setup.statusBook((name) => {
    const asked = layers.length > 0 && layers.some((each) => each.name === name)
    const buffered = asked && buffers(name)
    if (fold) return stateFromFold(name, fold, { asked, buffered })
    return asked ? stateCode('active', 'gateway', buffered ? marks.buffered : 0) : bypassed
  })
}

/** The headers of ours that an answer carries: where every layer ran, what it took, and for those allowed, how long each was. */
export function ownHeaders(visit: Visit, draining: boolean, head: Head = passedOn): Record<string, string> {
  const { record, setup, caller, privileged } = visit
  const { names } = setup
  const elapsed = record.elapsedMs()
  const headers: Record<string, string> = {}
  headers[names.layerStatus] = statusLine(visit).text
  record.toldStatus = true
  headers[names.executionTime] = micros(elapsed)
  headers[names.gatewayOverhead] = micros(elapsed - record.runnerMs)
  if (record.fold || record.directed || record.misplacedDirectives)
    Object.assign(headers, foldHeaders(record, names, head.status))
  if (draining) headers['connection'] = 'close'
  const check = checkAnswer(caller.request.headers, names)
  if (check) headers[names.check] = check
  if (privileged) Object.assign(headers, privilegedHeaders(visit, privileged, head))
  return headers
}

const passedOn: Head = { status: 200, headers: {} }

function privilegedHeaders({ record, setup, caller }: Visit, asks: Privileged, head: Head): Record<string, string> {
  const { names, config } = setup
  const { overheard, deprecated } = asks
  const debugs = caller.request.headers[names.debug] !== undefined && asks.has(config.access.debugScope)
  const old = deprecated && asks.has(config.access.deprecatedScope)
  return {
    ...(debugs ? { 'server-timing': serverTiming(record) } : {}),
    ...(old ? deprecatedHeaders(deprecated, { record, overheard, head }, names) : {}),
  }
}

function micros(ms: number): string {
  return String(Math.max(0, Math.round(ms * 1000)))
}
