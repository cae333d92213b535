import { describe, expect, it } from 'vitest'
import { startSpanCollector, tracesFrom } from '../e2e/span-collector.ts'
import { get, post } from '../support/ask.ts'
import { chat } from '../support/chat-replies.ts'
import { until } from '../support/gate.ts'
import { startTestGateway } from '../support/gateway.ts'
import { startUpstream } from '../support/upstream.ts'
import { prometheusAvailable, startPrometheus } from './prometheus-process.ts'
import { toolsRequired } from './promtool.ts'

const asked = { model: 'm', messages: [{ role: 'user', content: 'hello' }] }
const histograms = ['request_duration', 'overhead', 'time_to_first_token'].map(
  (name) => `foldgate_${name}_seconds_bucket`,
)

interface Exemplars {
  readonly seriesLabels: { readonly __name__: string; readonly le: string }
  readonly exemplars: readonly { readonly labels: { readonly trace_id: string }; readonly value: string }[]
}

interface Target {
  readonly health: string
  readonly lastError: string
}

/** A gateway that records every call whose caller does, and none besides. */
async function startRecording() {
  const stack = new AsyncDisposableStack()
  const collector = stack.use(await startSpanCollector())
  const upstream = stack.use(await startUpstream(chat('hi')))
  const gateway = stack.use(
    await startTestGateway({
      runners: [upstream.url],
      config: { telemetry: { otlpEndpoint: collector.url, sampleRatio: 0 } },
    }),
  )
  const call = (traceId: string, flag: 0 | 1) =>
    post(
      `${gateway.url}/v1/chat/completions`,
      { ...asked, stream: true },
      {
        traceparent: `00-${traceId.repeat(32)}-00f067aa0ba902b7-0${flag}`,
      },
    )
  return { collector, gateway, call, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

describe.skipIf(!prometheusAvailable && !toolsRequired)('a real Prometheus', () => {
  it('takes the gateway’s OpenMetrics, and leads from each histogram to a trace that the collector has', {
    timeout: 60_000,
  }, async () => {
    await using recording = await startRecording()
    const { gateway, collector, call } = recording
    await using prometheus = await startPrometheus(new URL(gateway.adminUrl).host)
    await call('a', 1)
    await call('b', 0)
    const find = () =>
      prometheus.ask<readonly Exemplars[]>('/api/v1/query_exemplars', {
        query: `{__name__=~"${histograms.join('|')}"}`,
        start: String(Date.now() / 1000 - 60),
        end: String(Date.now() / 1000 + 60),
      })
    await until(async () => (await find()).length >= 3, 'Prometheus has three exemplars', 20_000)
    const { activeTargets } = await prometheus.ask<{ readonly activeTargets: readonly Target[] }>('/api/v1/targets', {})
    expect(activeTargets).toMatchObject([{ health: 'up', lastError: '' }])
    const found = await find()
    expect(found.map(({ seriesLabels: { __name__: name } }) => name).toSorted()).toEqual(histograms.toSorted())
    await gateway.close()
    const traces = tracesFrom(collector.spans()).map(({ root: { traceId } }) => traceId)
    expect(traces).toEqual(['a'.repeat(32)])
    for (const { seriesLabels, exemplars } of found) {
      expect(exemplars.map(({ labels }) => labels.trace_id)).toEqual(traces)
      expect(Number(exemplars[0]?.value)).toBeLessThanOrEqual(Number(seriesLabels.le.replace('+Inf', 'Infinity')))
    }
  })
})

it('whoever does not ask for OpenMetrics gets plain text, without a trace', async () => {
  await using recording = await startRecording()
  const { gateway, call } = recording
  await call('a', 1)
  const plain = await get(`${gateway.adminUrl}/metrics`)
  expect(plain.headers).toMatchObject({ 'content-type': 'text/plain; version=0.0.4; charset=utf-8', vary: 'accept' })
  expect(plain.text).not.toContain('trace_id')
  const open = await get(`${gateway.adminUrl}/metrics`, { accept: 'application/openmetrics-text; version=1.0.0' })
  expect(open.headers['content-type']).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8')
  expect(open.text.match(/trace_id="a{32}"/g)).toHaveLength(3)
})
