import { gunzipSync } from 'node:zlib'
import { type OtlpSpan, spansFromOtlp } from '../../proxy/telemetry/otlp-spans.support.ts'
import { reply } from '../support/reply.ts'
import { startUpstream } from '../support/upstream.ts'
// The SDK touches stdout and stderr when it is loaded, which opens them: that is no leak of a test.
import '../../proxy/telemetry/recorder.ts'

/** A receiver of OTLP over HTTP. */
export interface SpanCollector extends AsyncDisposable {
  readonly url: string
  /** Everything that has come so far. */
  spans(): readonly OtlpSpan[]
}

/** Starts it. */
export async function startSpanCollector(): Promise<SpanCollector> {
  const upstream = await startUpstream(reply(200).length())
  return {
    url: upstream.url,
    spans: () =>
      upstream.requests.flatMap(({ body, headers, complete }) => {
        if (!complete) return []
        return spansFromOtlp(headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body)
      }),
    [Symbol.asyncDispose]: () => upstream[Symbol.asyncDispose](),
  }
}

/** The spans of one trace: its root, or what hangs under another's span, and its children in order of time. */
export interface Trace {
  readonly root: OtlpSpan
  readonly children: readonly OtlpSpan[]
}

/** Spans by trace, in order of their beginnings. Throws where a trace has no one root. */
export function tracesFrom(spans: readonly OtlpSpan[]): readonly Trace[] {
  const byTime = spans.toSorted((a, b) => Number(a.startNs - b.startNs))
  return [...Map.groupBy(byTime, ({ traceId }) => traceId).values()].map((each) => {
    const ids = new Set(each.map(({ spanId }) => spanId))
    const [root, ...more] = each.filter(({ parentSpanId }) => !ids.has(parentSpanId))
    if (!root || more.length > 0) throw new Error(`a trace of ${each.length} spans has ${more.length + 1} roots`)
    return { root, children: each.filter((span) => span !== root) }
  })
}
