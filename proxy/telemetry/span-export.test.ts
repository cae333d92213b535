import { describe, expect, it } from 'vitest'
import { until } from '../../test/support/gate.ts'
import { failOnLeaks } from '../../test/support/leaks.ts'
import { freePort } from '../../test/support/ports.ts'
import { rawReply, reply } from '../../test/support/reply.ts'
import { startUpstream, type Upstream } from '../../test/support/upstream.ts'
import { spansFromOtlp } from './otlp-spans.support.ts'
import { createTracing, type Tracing, type TracingOptions } from './tracing.ts'

// The SDK touches stdout and stderr when it is loaded, which opens them: that is no leak of a test.
import './recorder.ts'

failOnLeaks()

/** Tracing to a collector, and the count of spans given up. */
async function tracingTo(otlpEndpoint: string, options: Partial<TracingOptions> = {}) {
  const lost = { spans: 0 }
  const tracing = await createTracing(
    { otlpEndpoint, sampleRatio: 1, serviceName: 'foldgate' },
    {
      version: '0.1.0',
      onDropped: (spans) => {
        lost.spans += spans
      },
      queueSize: 64,
      batchSize: 16,
      delayMs: 1,
      environment: {},
      ...options,
    },
  )
  return { tracing, lost }
}

/** `count` calls, each one span, that begin and end at once. */
function calls(tracing: Tracing, count: number): void {
  for (let each = 0; each < count; each++) {
    tracing.begin({ route: 'chat', method: 'POST', path: '/p' }).end({ code: 200, source: 'runner' })
  }
}

const arrived = (collector: Upstream, from = 0) =>
  collector.requests.slice(from).reduce((sum, each) => sum + (each.complete ? spansFromOtlp(each.body).length : 0), 0)

const taken = reply(200, { 'Content-Type': 'application/x-protobuf' }).length()

describe('a collector', () => {
  it('that takes spans gets each of them once, as protobuf, at /v1/traces', async () => {
    await using collector = await startUpstream(taken)
    const { tracing, lost } = await tracingTo(`${collector.url}/`, { queueSize: 2048 })
    calls(tracing, 100)
    await tracing.close()
    expect({ arrived: arrived(collector), lost: lost.spans }).toEqual({ arrived: 100, lost: 0 })
    const ids = collector.requests.flatMap(({ body }) => spansFromOtlp(body)).map((span) => span.spanId)
    expect(new Set(ids).size).toBe(100)
    for (const request of collector.requests) {
      expect([request.method, request.path]).toEqual(['POST', '/v1/traces'])
      expect(request.headers['content-type']).toBe('application/x-protobuf')
    }
  })

  it('whose URL says the whole path is asked there', async () => {
    await using collector = await startUpstream(taken)
    const { tracing } = await tracingTo(`${collector.url}/otlp/v1/traces`)
    calls(tracing, 1)
    await tracing.close()
    expect(collector.requests[0]?.path).toBe('/otlp/v1/traces')
  })

  it('that is not there costs its spans, which are counted, and nothing else', async () => {
    const { tracing, lost } = await tracingTo(`http://127.0.0.1:${await freePort()}`, { closeTimeoutMs: 500 })
    calls(tracing, 500)
    expect(tracing.open).toBe(0)
    // What neither the first batch nor the queue could hold is given up at once.
    expect(lost.spans).toBe(500 - 16 - 64)
    await tracing.close()
    expect(lost.spans).toBe(500)
  })

  it.each([
    ['answers 500', reply(500).length()],
    ['answers 400', reply(400).length()],
    ['resets', rawReply().reset()],
    ['answers what is no protobuf', reply(503).send('<html>').length()],
  ])('that %s loses what it was sent, and gets the next spans when it is back', async (_, fault) => {
    await using collector = await startUpstream(fault)
    const { tracing, lost } = await tracingTo(collector.url, { closeTimeoutMs: 1000 })
    calls(tracing, 10)
    await until(
      () => lost.spans === 10,
      () => `10 spans are lost, not ${lost.spans}`,
    )
    const before = collector.requests.length
    collector.play(taken)
    calls(tracing, 10)
    await tracing.close()
    expect(arrived(collector, before)).toBe(10)
    expect(lost.spans).toBe(10)
  })

  it('that hangs is given up, never holds more than the queue and a batch, and gets spans when it is back', async () => {
    await using collector = await startUpstream(rawReply().stall())
    const { tracing, lost } = await tracingTo(collector.url, { closeTimeoutMs: 1000 })
    calls(tracing, 16)
    await collector.request(0)
    calls(tracing, 10_000)
    expect(lost.spans).toBe(10_000 - 64)
    await until(() => lost.spans >= 10_000 - 64 + 16, 'the hanging export is given up')
    collector.play(taken)
    await until(() => arrived(collector) >= 16, 'the collector gets spans again')
    calls(tracing, 1)
    await tracing.close()
    const ended = 16 + 10_000 + 1
    const hung = collector.requests.filter((each) => each.sentBytes === 0 && each.complete).length
    expect(hung).toBeGreaterThan(0)
    expect(lost.spans).toBeLessThan(ended)
    expect(lost.spans + arrived(collector)).toBeGreaterThanOrEqual(ended)
  })
})

describe('closing', () => {
  it.each([
    ['hangs before the head', rawReply().stall()],
    ['hangs in the body', reply(200).send('x').stall()],
  ])('while the collector %s takes no longer than it may, and counts what is left', async (_, hanging) => {
    await using collector = await startUpstream(hanging)
    const { tracing, lost } = await tracingTo(collector.url, { closeTimeoutMs: 300 })
    calls(tracing, 40)
    await collector.request(0)
    const began = performance.now()
    await tracing.close()
    expect(performance.now() - began).toBeLessThan(3_000)
    expect(lost.spans).toBe(40)
    await collector.deserted()
  })

  it('is no end of calls: what ends later is counted as lost', async () => {
    await using collector = await startUpstream(taken)
    const { tracing, lost } = await tracingTo(collector.url)
    const late = tracing.begin({ route: 'chat', method: 'POST', path: '/p' })
    await tracing.close()
    late.end({ code: 200, source: 'runner' })
    expect(lost.spans).toBe(1)
    expect(tracing.open).toBe(0)
  })
})
