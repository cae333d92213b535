import {
  type Context,
  createTraceState,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { AlwaysOnSampler, type IdGenerator, TracerProvider } from '@opentelemetry/sdk-trace'
import type { CallEnd, CallSpan, CallStart } from './call-span.ts'
import { type AttributeName, type Attributes, type Generation, genAiNames } from './gen-ai.ts'
import { recordCall, type SpanStart, type Spans } from './recorded-span.ts'
import { createSpanExport, type SpanExportOptions } from './span-export.ts'
import { newSpanId, newTraceId, sampledFlag, type TraceContext } from './trace-context.ts'

/** What a recorder is made with. */
export interface RecorderOptions extends SpanExportOptions {
  /** `service.name`. */
  readonly serviceName: string
  /** Of the product. */
  readonly version: string
}

/** Where a call that is to be recorded stands. */
export interface RecordedContext {
  readonly context: TraceContext
  /** The caller's span. */
  readonly parent: TraceContext | undefined
  readonly tracestate: string | undefined
  /** Told once. */
  readonly ended: (end: CallEnd) => void
}

/** Records calls as spans of the OpenTelemetry SDK and exports them. This file and what it imports are loaded only for that. */
export interface Recorder {
  record(start: CallStart, standing: RecordedContext): CallSpan
  /** Records something that is no call, now: a trace of one span without length. */
  note(name: string, attrs: Attributes): void
  close(): Promise<void>
}

/** Makes a {@link Recorder}. Throws `config_invalid` for an endpoint that is no http(s) URL. */
export function createRecorder(options: RecorderOptions, generation: Generation): Recorder {
  const spanExport = createSpanExport(options)
  const ids = givenIds()
  const provider = new TracerProvider({
    // Whether a call is recorded was decided before it came here.
    sampler: new AlwaysOnSampler(),
    idGenerator: ids,
    resource: resource(options),
    spanLimits: { attributeValueLengthLimit: 1024 },
    spanProcessors: [spanExport.processor],
  })
  const names = genAiNames[generation]
  const tracer = provider.getTracer('foldgate', options.version, { schemaUrl: names.schemaUrl })
  const spans: Spans = { names, start: (span, parent) => startSpan(tracer, ids.give(span), parent) }
  return {
    record: (start, standing) => recordCall(spans, start, { ...standing, under: remoteParent(standing) }),
    note(name, attributes) {
      const context = { traceId: newTraceId(), spanId: newSpanId(), flags: sampledFlag }
      const startTime = Date.now()
      spans.start({ name, kind: SpanKind.INTERNAL, context, attributes, startTime }, ROOT_CONTEXT).end(startTime)
    },
    close: () => spanExport.close(),
  }
}

function startSpan(tracer: Tracer, start: SpanStart, parent: Context): Span {
  const { name, kind, attributes, startTime, link } = start
  const links = link ? { links: [{ context: spanContext(link), attributes: { [linkKind]: 'shadow_of' } }] } : {}
  // Attributes have a limit of their own; a name ends with the model, which the caller may have written.
  return tracer.startSpan(name.slice(0, 128), { kind, attributes: { ...attributes }, startTime, ...links }, parent)
}

const linkKind: AttributeName = 'foldgate.link'

function spanContext({ traceId, spanId, flags }: TraceContext): SpanContext {
  return { traceId, spanId, traceFlags: flags }
}

/** The SDK asks for ids while it starts a span; it gets those that the caller of `start` has already told others. */
function givenIds(): IdGenerator & { give(span: SpanStart): SpanStart } {
  let next: TraceContext = { traceId: '', spanId: '', flags: 0 }
  return {
    give(span) {
      next = span.context
      return span
    },
    generateTraceId: () => next.traceId,
    generateSpanId: () => next.spanId,
  }
}

function remoteParent({ parent, tracestate }: RecordedContext): Context {
  if (parent === undefined) return ROOT_CONTEXT
  return trace.setSpanContext(ROOT_CONTEXT, {
    ...spanContext(parent),
    isRemote: true,
    ...(tracestate === undefined ? {} : { traceState: createTraceState(tracestate) }),
  })
}

function resource({ serviceName, version }: RecorderOptions) {
  // OTEL_RESOURCE_ATTRIBUTES is how Kubernetes tells the pod's name.
  return defaultResource()
    .merge(detectResources({ detectors: [envDetector] }))
    .merge(resourceFromAttributes({ 'service.name': serviceName, 'service.version': version }))
}
