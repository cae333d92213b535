import type { AttemptEnd, AttemptSpan, AttemptStart, CallEnd, CallSpan, LayerTime } from './call-span.ts'
import type { Attributes } from './gen-ai.ts'
import type { Phase } from './metric-values.ts'
import { newSpanId, newTraceId, sampledFlag, type TraceContext, traceparentFromContext } from './trace-context.ts'

/** What a runner is told of a span: the context of its trace, and other vendors' state as it came. */
export function traceHeaders(context: TraceContext, tracestate: string | undefined): AttemptSpan['headers'] {
  const parent = ['traceparent', traceparentFromContext(context)] as const
  return tracestate === undefined ? [parent] : [parent, ['tracestate', tracestate]]
}

// Classes for speed: most calls are not recorded, and these hold nothing but ids.
class LightAttempt implements AttemptSpan {
  readonly spanId = newSpanId()
  readonly headers: AttemptSpan['headers']
  constructor(call: TraceContext, tracestate: string | undefined) {
    const { traceId, flags } = call
    this.headers = traceHeaders({ traceId, spanId: this.spanId, flags }, tracestate)
  }
  end(_end: AttemptEnd): void {}
}

class LightCall implements CallSpan {
  readonly traceId: string
  readonly spanId: string
  readonly recording = false
  readonly #context: TraceContext
  readonly #tracestate: string | undefined
  readonly #ended: (end: CallEnd) => void
  #open = true
  constructor(context: TraceContext, tracestate: string | undefined, ended: (end: CallEnd) => void) {
    this.traceId = context.traceId
    this.spanId = context.spanId
    this.#context = context
    this.#tracestate = tracestate
    this.#ended = ended
  }
  get sampled(): boolean {
    return (this.#context.flags & sampledFlag) !== 0
  }
  set(_attrs: Attributes): void {}
  layer(_name: string, _phase: Phase, _time: LayerTime): void {}
  attempt(_start: AttemptStart): AttemptSpan {
    return new LightAttempt(this.#context, this.#tracestate)
  }
  copy(_start: AttemptStart): AttemptSpan {
    return new LightAttempt({ ...this.#context, traceId: newTraceId() }, undefined)
  }
  end(end: CallEnd): void {
    if (!this.#open) return
    this.#open = false
    this.#ended(end)
  }
}

/** The span of a call that is not recorded: it has ids for logs and headers, and nothing else. `ended` is told once. */
export function createLightSpan(
  context: TraceContext,
  tracestate: string | undefined,
  ended: (end: CallEnd) => void,
): CallSpan {
  return new LightCall(context, tracestate, ended)
}
