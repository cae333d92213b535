import type { Agent } from 'node:http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter, type SpanProcessor } from '@opentelemetry/sdk-trace'
import { gatewayError } from '../../plugins/errors.ts'

/** Where spans go and what may wait. Times in milliseconds. */
export interface SpanExportOptions {
  /** Base URL of an OTLP/HTTP collector; `/v1/traces` is added where it is missing. */
  readonly endpoint: string
  readonly onDropped: (spans: number) => void
  readonly queueSize?: number | undefined
  readonly batchSize?: number | undefined
  readonly delayMs?: number | undefined
  readonly closeTimeoutMs?: number | undefined
}

/** A bounded queue in front of a collector. */
export interface SpanExport {
  readonly processor: SpanProcessor
  /** Sends what waits until the time is over; what is left then is dropped, and its sockets are closed. Does not throw. */
  close(): Promise<void>
}

/** How many spans have not reached the collector, and who is told when some never will. */
interface Ledger {
  waiting: number
  sending: number
  closed: boolean
  readonly limit: number
  readonly dropped: (spans: number) => void
}

/** Opens a {@link SpanExport}; sends OTLP as protobuf over HTTP. Throws `config_invalid` for an endpoint that is no http(s) URL. */
export function createSpanExport(options: SpanExportOptions): SpanExport {
  const { queueSize = 2048, closeTimeoutMs = 5000 } = options
  // Shorter than closing, so that an export that began before it is over in time too.
  const exportTimeoutMs = closeTimeoutMs * 0.9
  const ledger: Ledger = { waiting: 0, sending: 0, closed: false, limit: queueSize, dropped: options.onDropped }
  const agents: Agent[] = []
  const exporter = new OTLPTraceExporter({
    url: tracesUrl(options.endpoint),
    timeoutMillis: exportTimeoutMs,
    httpAgentOptions: async (protocol) => {
      const { Agent } = await (protocol === 'https:' ? import('node:https') : import('node:http'))
      // The exporter's own timeout does not begin before the connection stands.
      const agent = new Agent({ keepAlive: true, timeout: exportTimeoutMs })
      agents.push(agent)
      return agent
    },
  })
  const batches = new BatchSpanProcessor({
    exporter: counting(exporter, ledger),
    maxQueueSize: queueSize,
    maxExportBatchSize: Math.min(options.batchSize ?? 512, queueSize),
    scheduledDelayMillis: options.delayMs ?? 5000,
    exportTimeoutMillis: exportTimeoutMs + 1000,
  })
  return {
    processor: bounded(batches, ledger),
    async close() {
      await atMost(closeTimeoutMs, batches.shutdown())
      const left = ledger.waiting + ledger.sending
      ledger.closed = true
      if (left > 0) ledger.dropped(left)
      for (const agent of agents) agent.destroy()
    },
  }
}

/** Throws `config_invalid`. */
function tracesUrl(endpoint: string): string {
  const url = URL.parse(endpoint)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw gatewayError('config_invalid', 'telemetry.otlpEndpoint: must be an http or https URL', {
      field: 'telemetry.otlpEndpoint',
    })
  }
  if (!url.pathname.endsWith('/v1/traces')) url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/traces`
  return url.href
}

/** The batches themselves drop in silence; this counts what would be too much, so that they never have to. */
function bounded(batches: SpanProcessor, ledger: Ledger): SpanProcessor {
  return {
    onStart: (span, context) => batches.onStart(span, context),
    onEnd(span) {
      if (ledger.closed || ledger.waiting >= ledger.limit) return ledger.dropped(1)
      ledger.waiting++
      batches.onEnd(span)
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  }
}

function counting(exporter: SpanExporter, ledger: Ledger): SpanExporter {
  return {
    export(spans: ReadableSpan[], done) {
      ledger.waiting -= spans.length
      ledger.sending += spans.length
      exporter.export(spans, (result) => {
        ledger.sending -= spans.length
        if (result.code !== 0 && !ledger.closed) ledger.dropped(spans.length)
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
  }
}

async function atMost(ms: number, work: Promise<void>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  // A collector that refuses is counted, not thrown.
  await Promise.race([work.catch(() => {}), late])
  clearTimeout(timer)
}
