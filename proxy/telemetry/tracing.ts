import type { CallEnd, CallSpan, CallStart } from './call-span.ts'
import { type Attributes, generationFrom } from './gen-ai.ts'
import { createLightSpan } from './light-span.ts'
import type { Recorder } from './recorder.ts'
import {
  contextFromTraceparent,
  newSpanId,
  newTraceId,
  sampledFlag,
  type TraceContext,
  tracestateFrom,
} from './trace-context.ts'

/** The part of the configuration that tracing reads. */
export interface TracingConfig {
  /** Base URL of an OTLP/HTTP collector, such as `http://collector:4318`; null: spans are not exported. */
  readonly otlpEndpoint: string | null
  /** The share of new traces that are sampled, 0 to 1. Traces that came with a `traceparent` keep its flag. */
  readonly sampleRatio: number
  /** `service.name`. */
  readonly serviceName: string
}

/** What tracing is made with beside its configuration. */
export interface TracingOptions {
  /** Of the product. */
  readonly version: string
  /** Told when spans are given up: the queue is full, or the collector did not take them. */
  readonly onDropped: (spans: number) => void
  /**
   * Hears the end of every call's span at once, sampled or not, before any exporter does: what decides rests on this, and on no
   * collector. Must not throw.
   */
  readonly onEnd?: (end: CallEnd) => void
  /** Spans that may wait for export; default 2048. */
  readonly queueSize?: number
  /** Spans in one export; default 512. */
  readonly batchSize?: number
  /** How long spans wait for more of them, in milliseconds; default 5000. */
  readonly delayMs?: number
  /** How long `close` waits for the collector, in milliseconds; default 5000. One export with its retries gets nine tenths of it. */
  readonly closeTimeoutMs?: number
  /** Default `process.env`. */
  readonly environment?: Readonly<Record<string, string | undefined>>
}

/** Makes spans, by hand: one a call, one a layer's phase, one a try at a runner. */
export interface Tracing {
  /** Begins the span of a call: the child of the caller's, or the root of a new trace. Its `end` must follow. */
  begin(start: CallStart): CallSpan
  /** Says something rare that is no call, such as the move of a layer: a trace of its own, recorded whatever the ratio. */
  note(name: string, attrs: Attributes): void
  /** Calls whose span has begun and not ended. */
  readonly open: number
  /** Sends what is waiting, for at most `closeTimeoutMs`, and gives up the rest. */
  close(): Promise<void>
}

/**
 * Makes {@link Tracing}. The OpenTelemetry SDK is loaded only when there is a collector to send to and `OTEL_SDK_DISABLED` is
 * not `true`; without it spans are ids and nothing else. Throws `config_invalid` for an endpoint that is no http(s) URL.
 */
export async function createTracing(config: TracingConfig, options: TracingOptions): Promise<Tracing> {
  const environment = options.environment ?? process.env
  const recorder = await recorderFor(config, { ...options, environment })
  const root = rootSampler(config.sampleRatio)
  let open = 0
  const ended = (end: CallEnd): void => {
    open--
    options.onEnd?.(end)
  }
  return {
    begin(start) {
      open++
      const parent = contextFromTraceparent(start.traceparent)
      const context = parent ? childOf(parent) : root()
      const tracestate = parent && tracestateFrom(start.tracestate)
      if (recorder === undefined || (context.flags & sampledFlag) === 0) {
        return createLightSpan(context, tracestate, ended)
      }
      return recorder.record(start, { context, parent, tracestate, ended })
    },
    note: (name, attrs) => recorder?.note(name, attrs),
    get open() {
      return open
    },
    close: async () => recorder?.close(),
  }
}

async function recorderFor(
  config: TracingConfig,
  options: TracingOptions & { environment: NonNullable<TracingOptions['environment']> },
): Promise<Recorder | undefined> {
  if (config.otlpEndpoint === null || options.environment['OTEL_SDK_DISABLED'] === 'true') return undefined
  const { createRecorder } = await import('./recorder.ts')
  return createRecorder(
    { ...options, endpoint: config.otlpEndpoint, serviceName: config.serviceName },
    generationFrom(options.environment),
  )
}

const childOf = ({ traceId, flags }: TraceContext): TraceContext => ({ traceId, spanId: newSpanId(), flags })

// Drawn from the trace id, so that everything that sees the trace can come to the same decision.
function rootSampler(ratio: number): () => TraceContext {
  const bound = ratio * 2 ** 32
  return () => {
    const traceId = newTraceId()
    const flags = Number.parseInt(traceId.slice(-8), 16) < bound ? sampledFlag : 0
    return { traceId, spanId: newSpanId(), flags }
  }
}
