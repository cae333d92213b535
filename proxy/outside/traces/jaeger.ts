import { attributeNames } from '../../telemetry/gen-ai.ts'
import { type AskStore, getJson } from './asking.ts'
import { countSpans } from './count.ts'
import { type ResourceSpans, spansFromOtlpJson } from './otlp-json.ts'
import type { WitnessQuestion, WitnessSpan } from './question.ts'

interface JaegerSpan {
  readonly traceID: string
  readonly spanID: string
  /** Microseconds. */
  readonly startTime: number
  readonly processID?: string
  readonly tags?: readonly { readonly key: string; readonly value: unknown }[]
}

interface JaegerTrace {
  readonly traceID: string
  readonly spans: readonly JaegerSpan[]
  readonly processes?: Readonly<Record<string, { readonly serviceName?: string }>>
}

/**
 * Jaeger's own JSON API, `GET /api/traces` (jaegertracing.io, "APIs", "HTTP JSON"; the parameters are described at
 * `cmd/query/app/query_parser.go` in version 1.76): times in microseconds, `tags` a JSON map, all of which have to fit one span.
 */
export const askJaeger: AskStore = async (question, line) => {
  const { service, fromMs, toMs } = question
  const found = await getJson<{ data?: readonly JaegerTrace[] | null }>(line, '/api/traces', {
    service,
    start: String(Math.floor(fromMs * 1_000)),
    end: String(Math.ceil(toMs * 1_000)),
    tags: JSON.stringify(wantedTags(question)),
    limit: String(line.maxTraces),
  })
  const traces = found?.data ?? []
  const arms = countSpans(
    traces.flatMap((trace) => spansFrom(trace, service)),
    question,
  )
  return { arms, traces: traces.length, partial: traces.length >= line.maxTraces }
}

function wantedTags({ rollout, stage }: WitnessQuestion): Record<string, string> {
  return { [attributeNames.rollout]: rollout, [attributeNames.stage]: stage }
}

function spansFrom({ spans, processes = {} }: JaegerTrace, service: string): WitnessSpan[] {
  return spans
    .filter(({ processID = '' }) => processes[processID]?.serviceName === service)
    .map(({ traceID, spanID, startTime, tags = [] }) => {
      const attributes = Object.fromEntries(tags.map(({ key, value }) => [key, value]))
      const failed =
        attributes['otel.status_code'] === 'ERROR' || attributes['error'] === true || attributes['error'] === 'true'
      return { id: `${traceID}/${spanID}`, startMs: startTime / 1_000, failed, attributes }
    })
}

/**
 * Jaeger's API v3, `GET /api/v3/traces` (`api_v3/query_service.proto`): OTLP in `{result: {resourceSpans}}`, 404 where nothing is
 * found. Up to 1.76 it calls the limit `query.num_traces` and knows no attributes; later versions call it `query.search_depth` and
 * take `query.attributes`. All are sent: what a version does not know it leaves alone, and spans are picked again here.
 */
export const askJaegerV3: AskStore = async (question, line) => {
  const { service, fromMs, toMs } = question
  const found = await getJson<{ result?: { resourceSpans?: readonly ResourceSpans[] } }>(line, '/api/v3/traces', {
    'query.service_name': service,
    'query.start_time_min': new Date(fromMs).toISOString(),
    'query.start_time_max': new Date(toMs).toISOString(),
    'query.num_traces': String(line.maxTraces),
    'query.search_depth': String(line.maxTraces),
    'query.attributes': JSON.stringify(wantedTags(question)),
  })
  const spans = [...spansFromOtlpJson(found?.result?.resourceSpans ?? [], service)]
  const traces = new Set(spans.map(({ id }) => id.split('/')[0])).size
  return { arms: countSpans(spans, question), traces, partial: traces >= line.maxTraces }
}
