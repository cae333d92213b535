import type { WitnessSpan } from './question.ts'

interface OtlpValue {
  readonly stringValue?: string
  readonly boolValue?: boolean
  readonly intValue?: string | number
  readonly doubleValue?: number
}

interface OtlpSpan {
  readonly traceId?: string
  readonly spanId?: string
  readonly startTimeUnixNano?: string | number
  readonly attributes?: readonly { readonly key: string; readonly value?: OtlpValue }[]
  readonly status?: { readonly code?: number | string }
}

/** Spans of one resource, as OTLP has them in JSON (opentelemetry.io, "OTLP Specification", "JSON Protobuf Encoding"). */
export interface ResourceSpans {
  readonly resource?: { readonly attributes?: OtlpSpan['attributes'] }
  readonly scopeSpans?: readonly { readonly spans?: readonly OtlpSpan[] }[]
}

/** The spans of one service in OTLP's JSON. Ids are only compared: hex in OTLP, base64 in Tempo. */
export function* spansFromOtlpJson(resources: readonly ResourceSpans[], service: string): Generator<WitnessSpan> {
  for (const { resource, scopeSpans = [] } of resources) {
    if (attributesFrom(resource?.attributes)['service.name'] !== service) continue
    for (const { spans = [] } of scopeSpans) for (const span of spans) yield spanFrom(span)
  }
}

function spanFrom({ traceId, spanId, startTimeUnixNano = 0, attributes, status }: OtlpSpan): WitnessSpan {
  return {
    id: `${traceId}/${spanId}`,
    startMs: Number(startTimeUnixNano) / 1e6,
    failed: status?.code === 2 || status?.code === 'STATUS_CODE_ERROR',
    attributes: attributesFrom(attributes),
  }
}

function attributesFrom(pairs: OtlpSpan['attributes'] = []): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map(({ key, value = {} }) => [
      key,
      value.stringValue ??
        value.boolValue ??
        value.doubleValue ??
        (value.intValue === undefined ? undefined : Number(value.intValue)),
    ]),
  )
}
