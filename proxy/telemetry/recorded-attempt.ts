import { type Context, type Attributes as SdkAttributes, type Span, SpanKind, SpanStatusCode } from '@opentelemetry/api'
import type { ErrorCode } from '../../plugins/errors.ts'
import type { AttemptEnd, AttemptSpan, AttemptStart } from './call-span.ts'
import { type Attributes, attributesFromUsage } from './gen-ai.ts'
import { traceHeaders } from './light-span.ts'
import type { Spans } from './recorded-span.ts'
import type { TraceContext } from './trace-context.ts'

/** Where the span of a try stands. */
export interface AttemptStanding {
  readonly context: TraceContext
  readonly under: Context
  readonly tracestate: string | undefined
  /** Added to `performance.now()` gives the time. */
  readonly offset: number
  /** Attributes beside those of the try itself. */
  readonly attrs: Attributes
  /** The call that this is a copy for. */
  readonly link?: TraceContext
  /** Told once. */
  readonly ended?: (attempt: AttemptSpan) => void
}

/** Starts the span of a try. */
export function recordAttempt(spans: Spans, start: AttemptStart, standing: AttemptStanding): AttemptSpan {
  return new RecordedAttempt(spans, start, standing)
}

class RecordedAttempt implements AttemptSpan {
  readonly spanId: string
  readonly headers: AttemptSpan['headers']
  readonly #spans: Spans
  readonly #span: Span
  readonly #standing: AttemptStanding
  #open = true

  constructor(spans: Spans, start: AttemptStart, standing: AttemptStanding) {
    const { context, under, tracestate, offset, attrs, link } = standing
    this.spanId = context.spanId
    this.headers = traceHeaders(context, tracestate)
    this.#spans = spans
    this.#standing = standing
    const { operation, model, method = 'POST' } = start
    const asked = operation === undefined ? method : [operation, model].filter(Boolean).join(' ')
    this.#span = spans.start(
      {
        name: link ? `shadow ${asked}` : asked,
        kind: SpanKind.CLIENT,
        context,
        attributes: { ...attributesOfAttempt(start), ...attrs, ...start.attrs },
        startTime: performance.now() + offset,
        ...(link ? { link } : {}),
      },
      under,
    )
  }

  end(end: AttemptEnd): void {
    if (!this.#open) return
    this.#open = false
    this.#standing.ended?.(this)
    finishAttempt(this.#span, end, this.#spans)
    this.#span.end(performance.now() + this.#standing.offset)
  }
}

function attributesOfAttempt(start: AttemptStart): Attributes {
  const asked: Attributes =
    start.operation === undefined
      ? {}
      : {
          'gen_ai.operation.name': start.operation,
          'gen_ai.provider.name': start.provider ?? 'openai',
          'gen_ai.request.model': start.model,
          'gen_ai.request.stream': start.stream,
        }
  return {
    ...asked,
    'http.request.method': start.method ?? 'POST',
    'server.address': start.address,
    'server.port': start.port,
    'foldgate.runner': start.runner,
  }
}

function finishAttempt(span: Span, end: AttemptEnd, { names }: Spans): void {
  setAll(span, {
    'http.response.status_code': end.status,
    'gen_ai.response.model': end.responseModel,
    'gen_ai.response.finish_reasons': end.finishReasons?.length ? end.finishReasons : undefined,
    'gen_ai.response.time_to_first_chunk': end.ttftMs === undefined ? undefined : end.ttftMs / 1000,
  })
  if (end.usage) span.setAttributes(attributesFromUsage(end.usage, names))
  const { status = 0, error } = end
  fail(span, error, error ?? (status >= 400 ? String(status) : undefined))
}

/** Says that what a span is of has failed, and of what; nothing where `type` is undefined. */
export function fail(span: Span, error: ErrorCode | undefined, type: string | undefined): void {
  if (type === undefined) return
  span.setAttribute('error.type', type)
  // A caller that went away is neither success nor failure.
  if (error !== 'client_closed') span.setStatus({ code: SpanStatusCode.ERROR })
}

/** Sets attributes of ours on a span of the SDK. */
export function setAll(span: Span, attrs: Attributes): void {
  span.setAttributes(attrs as SdkAttributes)
}
