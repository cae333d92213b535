import type { Exchange } from '../../../test/support/exchange.ts'
import { json, type Reply } from '../../../test/support/reply.ts'
import type { WitnessQuestion } from './question.ts'

/** The question that the fake stores know the answer to. */
export const question: WitnessQuestion = {
  ...{ service: 'foldgate', layer: 'rate-limit', rollout: '01J9', stage: 'canary 10 %' },
  fromMs: 1_790_000_000_000,
  toMs: 1_790_000_060_500,
}

/** A call's span as the gateway exports it. */
export interface ExportedSpan {
  readonly trace: string
  readonly span: string
  readonly startMs: number
  readonly failed: boolean
  readonly attributes: Readonly<Record<string, string | number | boolean>>
  readonly service?: string
}

const call = (number: number, given: Readonly<Record<string, string>>, failed = false): ExportedSpan => ({
  trace: number.toString(16).padStart(32, '0'),
  span: number.toString(16).padStart(16, '0'),
  startMs: question.fromMs + number * 1_000,
  failed,
  attributes: {
    'foldgate.rollout': question.rollout,
    'foldgate.stage': question.stage,
    'http.response.status_code': failed ? 502 : 200,
    'foldgate.layer.rate-limit.status': 'evaporation-accelerating',
    ...given,
  },
})
const fallback = (reason: string) => ({
  'foldgate.arm': 'native',
  'foldgate.layer.rate-limit.status': 'fallback',
  'foldgate.layer.rate-limit.by': 'gateway',
  'foldgate.layer.rate-limit.reason': reason,
  'foldgate.fallback.reason': reason,
})

/** What the stores hold: calls of the rollout, and much that is none. */
export const exported: readonly ExportedSpan[] = [
  call(1, { 'foldgate.arm': 'gateway' }),
  call(2, { 'foldgate.arm': 'native' }),
  call(3, { 'foldgate.arm': 'native' }, true),
  call(4, fallback('runner-timeout')),
  // The caller's own doing is no evidence.
  call(5, fallback('schema-keyword')),
  { ...call(6, { 'foldgate.arm': 'native' }), attributes: { 'foldgate.arm': 'native', 'foldgate.rollout': '01J9' } },
  call(7, { 'foldgate.arm': 'native', 'foldgate.rollout': 'another' }),
  call(8, { 'foldgate.arm': 'native', 'foldgate.stage': 'canary 50 %' }),
  { ...call(9, { 'foldgate.arm': 'native' }), startMs: question.toMs },
  { ...call(10, { 'foldgate.arm': 'native' }), startMs: question.fromMs - 1 },
  { ...call(11, { 'foldgate.arm': 'native' }), service: 'another-gateway' },
]

/** What is to be counted of it. */
export const counted = {
  gateway: { calls: 1, bad: 0, fallbacks: 0 },
  native: { calls: 4, bad: 1, fallbacks: 1 },
}

/** A span as OTLP has it in JSON; Tempo's ids are base64. */
export function otlpFrom(
  { trace, span, startMs, failed, attributes, service = 'foldgate' }: ExportedSpan,
  ids: 'hex' | 'base64',
) {
  const id = (hex: string) => (ids === 'hex' ? hex : Buffer.from(hex, 'hex').toString('base64'))
  return {
    resource: { attributes: [{ key: 'service.name', value: { stringValue: service } }] },
    scopeSpans: [
      {
        scope: { name: 'foldgate' },
        spans: [
          {
            ...{ traceId: id(trace), spanId: id(span), name: 'POST /v1/chat/completions', kind: 2 },
            startTimeUnixNano: `${startMs}000000`,
            endTimeUnixNano: `${startMs + 5}000000`,
            attributes: Object.entries(attributes).map(([key, value]) => ({
              key,
              value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: String(value) },
            })),
            status: failed ? { code: ids === 'hex' ? 2 : 'STATUS_CODE_ERROR' } : {},
          },
        ],
      },
    ],
  }
}

/** The query of a request, and its path without it. */
export function targetOf({ path }: Exchange): { path: string; query: Record<string, string> } {
  const url = new URL(path, 'http://store')
  return { path: url.pathname, query: Object.fromEntries(url.searchParams) }
}

/** Answers as Jaeger 1.76 does: `/api/traces` and `/api/v3/traces`. */
export function jaegerAnswer(request: Exchange): Reply {
  const { path, query } = targetOf(request)
  if (path === '/api/traces') {
    if (!query['service'])
      return json({ data: null, errors: [{ code: 400, msg: "parameter 'service' is required" }] }, 400)
    return json({ data: exported.map(jaegerTrace), total: 0, limit: 0, offset: 0, errors: null })
  }
  if (path !== '/api/v3/traces' || !query['query.start_time_min'] || !query['query.start_time_max']) {
    return json(
      { error: { httpCode: 400, message: 'query.start_time_min and query.start_time_max are required' } },
      400,
    )
  }
  return json({ result: { resourceSpans: exported.map((each) => otlpFrom(each, 'hex')) } })
}

function jaegerTrace({ trace, span, startMs, failed, attributes, service = 'foldgate' }: ExportedSpan) {
  const tags = Object.entries(attributes).map(([key, value]) => ({
    key,
    type: typeof value === 'number' ? 'int64' : 'string',
    value,
  }))
  const error = [
    { key: 'otel.status_code', type: 'string', value: 'ERROR' },
    { key: 'error', type: 'bool', value: true },
  ]
  const one = {
    ...{ traceID: trace, spanID: span, operationName: 'POST /v1/chat/completions', references: [] },
    ...{ startTime: startMs * 1_000, duration: 5_000, logs: [], processID: 'p1', warnings: null },
    tags: [...tags, { key: 'span.kind', type: 'string', value: 'server' }, ...(failed ? error : [])],
  }
  // A span that came twice, as collectors send them.
  return { traceID: trace, spans: [one, one], processes: { p1: { serviceName: service, tags: [] } }, warnings: null }
}

/** Answers as Tempo does: `/api/search` and `/api/traces/{id}`; trace 2 was deleted in between. */
export function tempoAnswer(request: Exchange): Reply {
  const { path, query } = targetOf(request)
  if (path === '/api/search') {
    const traces = exported.slice(0, Number(query['limit'])).map(({ trace, startMs }) => ({
      // Tempo leaves out the zeros in front.
      traceID: trace.replace(/^0+/, ''),
      ...{ rootServiceName: 'foldgate', rootTraceName: 'POST', startTimeUnixNano: `${startMs}000000`, durationMs: 5 },
      spanSets: [{ spans: [{ spanID: '1', startTimeUnixNano: '1', durationNanos: '5', attributes: [] }], matched: 1 }],
    }))
    return json({ traces, metrics: { totalBlocks: 13 } })
  }
  const id = path.replace('/api/traces/', '')
  const found = exported.find(({ trace }) => trace.replace(/^0+/, '') === id)
  return found && id !== '2' ? json({ batches: [otlpFrom(found, 'base64')] }) : json({}, 404)
}
