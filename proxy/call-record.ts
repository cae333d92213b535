import type { Call } from '../plugins/call.ts'
import type { Usage } from '../plugins/chat.ts'
import type { GatewayError } from '../plugins/errors.ts'
import type { Mode } from '../plugins/layer.ts'
import type { Target } from '../plugins/reply.ts'
import type { Going, Place, Seated, Witness } from '../plugins/stack.ts'
import type { Verdict } from '../plugins/verdict.ts'
import type { AttemptPlace, AttemptWatch } from './attempt.ts'
import type { CallFold } from './folding/call-fold.ts'
import type { FoldSeat } from './folding/seats.ts'
import type { AttemptEnd, AttemptSpan, AttemptStart, CallSpan } from './telemetry/call-span.ts'
import { attributesFromRequest, operationFromRoute } from './telemetry/gen-ai.ts'

/** What one layer did to one call. */
export interface LayerRecord {
  readonly name: string
  readonly verdict: Verdict['kind']
  readonly mode: Mode
  /** Milliseconds on the way in, and on the way back. */
  readonly decideMs: number
  settleMs: number
}

/** One try at one runner. */
export interface AttemptRecord {
  readonly target: Target
  /** Milliseconds since the call began. */
  readonly startMs: number
  endMs?: number
  status?: number
  error?: string
}

/** Everything the gateway notes about one call; feeds the status header, metrics, spans, the log line and `explain`. */
export interface CallRecord extends Witness {
  readonly startedAt: number
  readonly layers: readonly LayerRecord[]
  /** How it is split with the runner; undefined where every layer sits here. */
  fold: CallFold | undefined
  /** The caller asked something of the layers, in the body. */
  directed: boolean
  /** Path of the first directive that was wrong, in a call that was served without. */
  directiveFault: string | undefined
  /** The call is to be refused for that, once auth knows who is calling. */
  directiveRefusal: GatewayError | undefined
  /** The caller asks for every layer in the gateway; says, once auth has spoken, whether it may. Undefined: it does not ask. */
  forced: (() => boolean) | undefined
  /** Directives stood in the header of contexts, where nobody reads them. */
  misplacedDirectives: boolean
  readonly attempts: AttemptRecord[]
  /** The call as the innermost layer that was asked saw it, while it is under way. */
  call: Call | undefined
  source: 'gateway' | 'runner' | 'cache'
  /** The answer began as an event stream. */
  streamed: boolean
  usage: Usage | undefined
  error: GatewayError | undefined
  /** Milliseconds since the call began at which the first byte of the answer left; undefined while none has. */
  firstByteMs: number | undefined
  /** Milliseconds since the call began at which a stream called its first tool; known where its chunks are read. */
  toolCallMs: number | undefined
  /** The layer status went into the head of the answer. */
  toldStatus: boolean
  /** Milliseconds spent waiting for runners until their heads were there. */
  runnerMs: number
  readonly span: CallSpan
  /** Milliseconds since the call began. */
  elapsedMs(): number
  /** Begins one try at a runner. */
  attempt(place: AttemptPlace, call: Call): AttemptWatch
}

// A class because six layers write to it on every call, and closures made anew for each would be what costs.
class Recorded implements CallRecord {
  readonly startedAt: number
  readonly layers: LayerRecord[] = []
  readonly attempts: AttemptRecord[] = []
  call: Call | undefined
  fold: CallFold | undefined
  directed = false
  directiveFault: string | undefined
  directiveRefusal: GatewayError | undefined
  forced: (() => boolean) | undefined
  misplacedDirectives = false
  source: CallRecord['source'] = 'gateway'
  streamed = false
  usage: Usage | undefined
  error: GatewayError | undefined
  firstByteMs: number | undefined
  toolCallMs: number | undefined
  toldStatus = false
  runnerMs = 0
  readonly span: CallSpan
  readonly #start = performance.now()

  constructor(startedAt: number, span: CallSpan) {
    this.startedAt = startedAt
    this.span = span
  }
  placed(seat: Seated, place: Place, going: Going): void {
    this.fold?.placed(seat as FoldSeat, place, going)
  }
  heard(seat: Seated<Mode>, verdict: Verdict, ms: number, call: Call): void {
    const { name, mode } = seat
    this.call = call
    this.layers.push({ name, verdict: verdict.kind, mode, decideMs: ms, settleMs: 0 })
    this.fold?.heard(seat, verdict, call)
    if (this.span.recording) this.#layerSpan(name, 'request', ms)
  }
  settled(seat: Seated, ms: number): void {
    const record = this.layers.findLast((each) => each.name === seat.name)
    if (record) record.settleMs += ms
    if (this.span.recording) this.#layerSpan(seat.name, 'response', ms)
  }
  ending(seat: Seated<Mode>, call: Call): void {
    this.fold?.ending(seat, call)
  }
  elapsedMs(): number {
    return performance.now() - this.#start
  }
  attempt(place: AttemptPlace, call: Call): AttemptWatch {
    const { target, address, port, streamed } = place
    const noted: AttemptRecord = { target, startMs: this.elapsedMs() }
    this.attempts.push(noted)
    return new WatchedAttempt(this, noted, {
      runner: target.runner,
      model: target.model || undefined,
      operation: operationFromRoute(call.route),
      address,
      port,
      stream: streamed,
      // What nobody has read is not read for this.
      ...(this.span.recording && call.parsed ? { attrs: attributesFromRequest(call.request) } : {}),
    })
  }
  #layerSpan(name: string, phase: 'request' | 'response', ms: number): void {
    const end = performance.now()
    this.span.layer(name, phase, { startMs: end - ms, endMs: end })
  }
}

// A class, as above: one object a try.
class WatchedAttempt implements AttemptWatch {
  readonly #call: CallRecord
  readonly #noted: AttemptRecord
  readonly #start: AttemptStart
  #span: AttemptSpan
  constructor(call: CallRecord, noted: AttemptRecord, start: AttemptStart) {
    this.#call = call
    this.#noted = noted
    this.#start = start
    this.#span = call.span.attempt(start)
  }
  get headers(): AttemptSpan['headers'] {
    return this.#span.headers
  }
  again(came: Pick<AttemptEnd, 'status' | 'error'>): void {
    this.#span.end(came)
    this.#span = this.#call.span.attempt(this.#start)
  }
  end({ status, error }: Parameters<AttemptWatch['end']>[0]): void {
    const { usage, streamed, firstByteMs } = this.#call
    const noted = this.#noted
    noted.endMs = this.#call.elapsedMs()
    if (status !== undefined) noted.status = status
    if (error) noted.error = error.code
    const ttftMs = streamed && firstByteMs !== undefined ? firstByteMs - noted.startMs : undefined
    this.#span.end({ status, error: error?.code, usage, ttftMs })
  }
}

/** Begins the record of a call. `startedAt` is in milliseconds since the epoch. */
export function createCallRecord(startedAt: number, span: CallSpan): CallRecord {
  return new Recorded(startedAt, span)
}
