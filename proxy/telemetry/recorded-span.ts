import { type Context, ROOT_CONTEXT, type Span, SpanKind, trace } from '@opentelemetry/api'
import { errorKinds } from '../../plugins/errors.ts'
import type { AttemptSpan, AttemptStart, CallEnd, CallSpan, CallStart, LayerTime } from './call-span.ts'
import type { Attributes, GenAiNames } from './gen-ai.ts'
import type { Phase } from './metric-values.ts'
import { fail, recordAttempt, setAll } from './recorded-attempt.ts'
import { newSpanId, newTraceId, sampledFlag, type TraceContext } from './trace-context.ts'

/** One span to start. */
export interface SpanStart {
  readonly name: string
  readonly kind: SpanKind
  /** The ids the span gets. */
  readonly context: TraceContext
  readonly attributes: Attributes
  /** Milliseconds since the epoch. */
  readonly startTime: number
  /** The span of another trace that it has to do with. */
  readonly link?: TraceContext
}

/** Starts spans of the OpenTelemetry SDK. */
export interface Spans {
  readonly names: GenAiNames
  start(span: SpanStart, parent: Context): Span
}

/** Where a recorded call stands. */
export interface Standing {
  readonly context: TraceContext
  /** What its span is the child of. */
  readonly under: Context
  readonly tracestate: string | undefined
  /** Told once, before the span goes to any exporter. */
  readonly ended: (end: CallEnd) => void
}

/** Starts the span of a call. */
export function recordCall(spans: Spans, start: CallStart, standing: Standing): CallSpan {
  return new RecordedCall(spans, start, standing)
}

// Known methods are named; anything else is one word (HTTP semantic conventions).
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH'])

// A class because it has a state, open or over, and children to end with it.
class RecordedCall implements CallSpan {
  readonly traceId: string
  readonly spanId: string
  readonly recording = true
  readonly #spans: Spans
  readonly #standing: Standing
  readonly #span: Span
  readonly #inside: Context
  readonly #attempts = new Set<AttemptSpan>()
  /** Added to `performance.now()` gives the time; taken anew for each call, for the two clocks drift apart. */
  readonly #offset = Date.now() - performance.now()
  #attempted = 0
  #open = true

  constructor(spans: Spans, start: CallStart, standing: Standing) {
    this.#spans = spans
    this.#standing = standing
    this.traceId = standing.context.traceId
    this.spanId = standing.context.spanId
    const known = knownMethods.has(start.method)
    this.#span = spans.start(
      {
        name: `${known ? start.method : 'HTTP'} ${start.path}`,
        kind: SpanKind.SERVER,
        context: standing.context,
        startTime: (start.startMs ?? performance.now()) + this.#offset,
        attributes: {
          'http.request.method': known ? start.method : '_OTHER',
          'http.route': start.path,
          'url.scheme': start.scheme ?? 'http',
          ...(start.path.includes('*') ? {} : { 'url.path': start.path }),
          'foldgate.route': start.route,
        },
      },
      standing.under,
    )
    this.#inside = trace.setSpan(ROOT_CONTEXT, this.#span)
  }

  get sampled(): boolean {
    return (this.#standing.context.flags & sampledFlag) !== 0
  }

  set(attrs: Attributes): void {
    if (this.#open) setAll(this.#span, attrs)
  }

  layer(name: string, phase: Phase, time: LayerTime): void {
    if (!this.#open) return
    const context = this.#child()
    const attributes = { 'foldgate.layer': name, 'foldgate.phase': phase, ...time.attrs }
    const startTime = time.startMs + this.#offset
    const start = { name: `${name} ${phase}`, kind: SpanKind.INTERNAL, context, attributes, startTime }
    this.#spans.start(start, this.#inside).end(time.endMs + this.#offset)
  }

  attempt(start: AttemptStart): AttemptSpan {
    const attempt = recordAttempt(this.#spans, start, {
      context: this.#child(),
      under: this.#inside,
      tracestate: this.#standing.tracestate,
      offset: this.#offset,
      attrs: { 'foldgate.attempt': ++this.#attempted },
      ended: (one) => this.#attempts.delete(one),
    })
    this.#attempts.add(attempt)
    // A try that begins after its call was given up is told to nobody else.
    if (!this.#open) attempt.end({ error: 'client_closed' })
    return attempt
  }

  copy(start: AttemptStart): AttemptSpan {
    const link = this.#standing.context
    return recordAttempt(this.#spans, start, {
      context: { traceId: newTraceId(), spanId: newSpanId(), flags: link.flags },
      under: ROOT_CONTEXT,
      tracestate: undefined,
      offset: this.#offset,
      attrs: { 'user_agent.synthetic.type': 'test' },
      link,
    })
  }

  end(end: CallEnd): void {
    if (!this.#open) return
    this.#open = false
    for (const attempt of this.#attempts) attempt.end({ error: end.error })
    setAll(this.#span, {
      'http.response.status_code': end.code,
      'foldgate.source': end.source,
      'foldgate.error.code': end.error,
      ...end.attrs,
    })
    fail(this.#span, end.error, failureOfCall(end))
    this.#standing.ended(end)
    this.#span.end(performance.now() + this.#offset)
  }

  #child(): TraceContext {
    const { traceId, flags } = this.#standing.context
    return { traceId, spanId: newSpanId(), flags }
  }
}

/** What a server span calls its failure: nothing where the caller was at fault. */
function failureOfCall({ code, error }: CallEnd): string | undefined {
  if (error === undefined) return code >= 500 ? String(code) : undefined
  return error === 'client_closed' || errorKinds[error].status >= 500 ? error : undefined
}
