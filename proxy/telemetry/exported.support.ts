import { reply } from '../../test/support/reply.ts'
import { startUpstream } from '../../test/support/upstream.ts'
import type { CallSpan, CallStart } from './call-span.ts'
import { type OtlpSpan, spansFromOtlp } from './otlp-spans.support.ts'
// The SDK touches stdout and stderr when it is loaded, which opens them: that is no leak of a test.
import './recorder.ts'
import { createTracing, type Tracing } from './tracing.ts'

/** A chat call. */
export const start: CallStart = { route: 'chat', method: 'POST', path: '/v1/chat/completions' }
/** A try at a runner. */
export const attempt = {
  runner: 'gpu-a',
  model: 'smollm2',
  operation: 'chat',
  address: '127.0.0.1',
  port: 8000,
  stream: true,
} as const
/** What a caller may send. */
export const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

/** Runs calls, and gives the spans that a real collector got of them, in order of their names. */
export async function exported(
  run: (tracing: Tracing) => void,
  environment: Record<string, string> = {},
  sampleRatio = 1,
): Promise<OtlpSpan[]> {
  await using collector = await startUpstream(reply(200).length())
  const tracing = await createTracing(
    { otlpEndpoint: collector.url, sampleRatio, serviceName: 'foldgate-test' },
    { version: '1.2.3', onDropped: () => {}, environment },
  )
  run(tracing)
  await tracing.close()
  const spans = collector.requests.flatMap(({ body }) => spansFromOtlp(body))
  return spans.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** A run of one call. */
export const once =
  (change: (call: CallSpan) => void, more: Partial<CallStart> = {}) =>
  (tracing: Tracing) =>
    change(tracing.begin({ ...start, ...more }))
