import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Call } from '../plugins/call.ts'
import type { Route } from '../plugins/chat.ts'
import { type GatewayError, gatewayError } from '../plugins/errors.ts'
import { type AnswerFrame, endStream, writeError } from './answer.ts'
import { cacheStateOf, triesOf } from './attempt-figures.ts'
import { type CallRecord, createCallRecord } from './call-record.ts'
import { type Caller, callFromCaller, createCaller } from './caller.ts'
import type { Dialect } from './dialect.ts'
import type { CallFold } from './folding/call-fold.ts'
import { ownHeaders, statusLine } from './own-headers.ts'
import { beginPrivileged, noteConsumer, type Privileged } from './privileged.ts'
import type { Rooms } from './rooms.ts'
import type { Setup } from './setup.ts'
import { spanAttributes } from './span-attributes.ts'
import { announcedTrailer, statusTrailer } from './status-trailer.ts'
import type { Arm, Source } from './telemetry/metric-values.ts'

/** One call with everything that goes along with it. */
export interface Visit {
  readonly kind: VisitKind
  readonly caller: Caller
  readonly record: CallRecord
  readonly setup: Setup
  /** Its caller asks for more than others get. */
  readonly privileged: Privileged | undefined
  /** Takes the call off the list of those under way. */
  landed(): void
}

/** What kind of call it is, as far as everything around it goes. */
export interface VisitKind {
  readonly route: Route
  readonly dialect: Dialect
  /** The path's template, for spans and logs; never what the caller sent. */
  readonly path: string
}

/** A call begins: it is counted, its span is open, and the configuration in force now is its own until it ends. */
export function beginVisit(rooms: Rooms, kind: VisitKind, http: Http): Visit {
  const setup = rooms.setup()
  const caller = createCaller(http.request, http.response, setup.config.headers.trustRequestId)
  const record = beginRecord(rooms, kind, { caller, startedAt: setup.host.clock.now() })
  rooms.metrics.begun()
  setup.use()
  const landed = rooms.flights.began((error) => cut(rooms, visit, error))
  const special = beginPrivileged(setup, http.request.headers, rooms.pressure)
  const visit: Visit = { kind, caller, record, setup, landed, privileged: undefined, ...special }
  return visit
}

/** A request and the response it gets. */
export interface Http {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

function beginRecord(
  rooms: Rooms,
  kind: VisitKind,
  { caller, startedAt }: { caller: Caller; startedAt: number },
): CallRecord {
  const { method = 'GET', headers } = caller.request
  const { traceparent, tracestate } = headers as Record<string, string | undefined>
  const span = rooms.tracing.begin({ route: kind.route, path: kind.path, method, traceparent, tracestate })
  return createCallRecord(startedAt, span)
}

/** How the answer of this visit is written. */
export function frameOf(rooms: Rooms, visit: Visit): AnswerFrame {
  const { caller, kind, record, setup } = visit
  return {
    response: caller.response,
    dialect: kind.dialect,
    requestId: caller.requestId,
    times: setup.config.listen,
    headers: (head) => ownHeaders(visit, rooms.draining(), head),
    announced: () => announcedTrailer(visit),
    trailer: () => statusTrailer(visit),
    flushed: rooms.metrics.flushed,
    begun: (streamed) => {
      record.streamed = streamed
      record.firstByteMs ??= record.elapsedMs()
      record.fold?.flight?.firstByte()
    },
  }
}

/** The call is over, however it ended: metrics, span, log line, and everything that hung on it given back. */
export function finish(rooms: Rooms, visit: Visit, fault: GatewayError | undefined): void {
  const { caller, kind, record, setup } = visit
  // What was cut off looks, to whoever served it, as if its caller had left.
  const failure = record.error ?? fault
  const told = failure !== undefined && failure.code !== 'client_closed'
  const left = !told && caller.signal.aborted && !caller.response.writableFinished
  const error = left ? gatewayError('client_closed', 'the caller went away') : failure
  record.error = error
  if (error) caller.over()
  // A stream that failed after its head had left still counts as the failure it is.
  const status = left ? 499 : (failure?.status ?? caller.response.statusCode)
  const call = measured(visit, status)
  rooms.metrics.ended(call)
  for (const layer of record.layers) {
    rooms.metrics.layer(layer.name, 'request', layer.decideMs / 1000)
    rooms.metrics.layer(layer.name, 'response', layer.settleMs / 1000)
  }
  countRunners(rooms, visit, status)
  if (record.usage) {
    rooms.metrics.tokens('input', record.usage.prompt_tokens ?? 0)
    rooms.metrics.tokens('output', record.usage.completion_tokens ?? 0)
    rooms.metrics.tokens('cached', record.usage.prompt_tokens_details?.cached_tokens ?? 0)
  }
  const { states } = statusLine(visit)
  for (const { name, status: said, by } of states) rooms.metrics.layerStatus(name, said, by)
  if (record.fold) countFold(rooms, record.fold)
  setup.folds.over(record)
  const attrs = spanAttributes({ record, states, arm: call.arm, requestId: caller.requestId })
  record.fold?.flight?.over()
  record.span.end({ code: status, source: call.source, error: error?.code, ...(attrs ? { attrs } : {}) })
  noteConsumer(rooms, visit)
  rooms.remember(caller, record, { route: kind.route, status })
  visit.landed()
  setup.leave()
}

function countRunners({ metrics }: Rooms, { caller, record }: Visit, status: number): void {
  for (const tried of triesOf(record)) metrics.tried(tried)
  if (status < 300 && record.firstByteMs !== undefined && record.source !== 'gateway')
    metrics.firstByte(cacheStateOf(record), record.firstByteMs / 1000)
  if (caller.response.headersSent && !record.toldStatus) metrics.missingHeader('layer-status', 'client-out')
}

function countFold({ metrics }: Rooms, { fallbacks, unacknowledged, missing }: CallFold): void {
  for (const [layer, reason] of fallbacks) metrics.fallback(layer, reason)
  for (const layer of unacknowledged) metrics.unacknowledged(layer)
  for (const header of missing)
    metrics.missingHeader(header, header === 'x-execution-context' ? 'runner-in' : 'runner-out')
}

/** Where the layer that has moved furthest decided. */
function armOf({ fold }: CallRecord): Arm {
  if (!fold || fold.stages.size === 0) return 'gateway'
  let [proving, moving, native] = [false, false, false]
  fold.stages.forEach((stage, name) => {
    const decides = fold.modes.get(name) === 'enforce'
    proving ||= decides && stage === 'canary'
    native ||= decides && stage === 'native'
    moving ||= stage === 'shadow' || stage === 'canary'
  })
  if (proving) return 'proving'
  if (moving) return 'shadow'
  return native ? 'native' : 'gateway'
}

function sourceOf({ record, privileged }: Visit): Source {
  if (privileged?.deprecated?.shed) return 'shed'
  return record.source === 'runner' ? 'runner' : 'gateway'
}

function measured(visit: Visit, status: number) {
  const { kind, record } = visit
  const seconds = record.elapsedMs() / 1000
  const first = record.firstByteMs
  return {
    route: kind.route,
    code: status,
    source: sourceOf(visit),
    arm: armOf(record),
    seconds,
    overheadSeconds: first === undefined ? undefined : (first - record.runnerMs) / 1000,
    runnerSeconds: first === undefined ? undefined : record.runnerMs / 1000,
    ttftSeconds: first === undefined || !record.streamed ? undefined : first / 1000,
    traceId: record.span.recording ? record.span.traceId : undefined,
  } as const
}

/** The call of a visit, as the outermost layer is asked about it. */
export function callOf({ kind, caller, record, setup }: Visit, body: Buffer): Call {
  return callFromCaller(caller, { route: kind.route, body, now: record.startedAt, proxies: setup.proxies })
}

/** Time is up: what has begun ends with an error in band, what has not is refused; and everything behind it is given up. */
function cut(rooms: Rooms, visit: Visit, error: GatewayError): void {
  const { response, requestId, over } = visit.caller
  const { dialect } = visit.kind
  if (!response.writableEnded) visit.record.error = error
  if (!response.headersSent) writeError(frameOf(rooms, visit), error)
  else if (visit.record.streamed) endStream(frameOf(rooms, visit), dialect.errorEvent(error, requestId))
  else response.destroy()
  over()
}
