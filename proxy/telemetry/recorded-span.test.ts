import { describe, expect, it } from 'vitest'
import { failOnLeaks } from '../../test/support/leaks.ts'
import { attempt, exported, once, start, traceparent } from './exported.support.ts'
import { attributesFromRequest, layerAttributes } from './gen-ai.ts'
import type { OtlpSpan } from './otlp-spans.support.ts'
import { contextFromTraceparent } from './trace-context.ts'
import type { Tracing } from './tracing.ts'

failOnLeaks()

describe('the spans of a call', () => {
  it('are a server span under the caller’s, and a span a layer and a try under that', async () => {
    const heads: string[] = []
    const spans = await exported(
      once(
        (call) => {
          const now = performance.now()
          call.layer('auth', 'request', { startMs: now, endMs: now + 1 })
          const first = call.attempt(attempt)
          heads.push(Object.fromEntries(first.headers)['traceparent']!)
          first.end({ error: 'runner_unreachable' })
          const second = call.attempt(attempt)
          heads.push(Object.fromEntries(second.headers)['traceparent']!)
          second.end({ status: 200 })
          call.layer('postprocess', 'response', { startMs: now + 2, endMs: now + 3 })
          call.end({ code: 200, source: 'fallback' })
        },
        { traceparent, tracestate: 'rojo=1' },
      ),
    )
    expect(spans.map(({ name, kind }) => [name, kind])).toEqual([
      ['POST /v1/chat/completions', 2],
      ['auth request', 1],
      ['chat smollm2', 3],
      ['chat smollm2', 3],
      ['postprocess response', 1],
    ])
    const [server, ...inner] = spans
    expect(server).toMatchObject({ parentSpanId: '00f067aa0ba902b7', traceState: 'rojo=1' })
    for (const span of spans) expect(span.traceId).toBe('4bf92f3577b34da6a3ce929d0e0e4736')
    for (const span of inner) expect(span.parentSpanId).toBe(server!.spanId)
    // What each runner was told is the span of its own try.
    const tries = inner
      .filter(({ kind }) => kind === 3)
      .sort((a, b) => Number(a.attributes['foldgate.attempt']) - Number(b.attributes['foldgate.attempt']))
    expect(heads.map((head) => contextFromTraceparent(head)!.spanId)).toEqual(tries.map(({ spanId }) => spanId))
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(5)
  })

  it('of a call without a trace are one trace with one root', async () => {
    const spans = await exported(
      once((call) => {
        call.attempt(attempt).end({ status: 200 })
        call.end({ code: 200, source: 'runner' })
      }),
    )
    expect(spans.map(({ parentSpanId }) => parentSpanId)).toEqual(['', spans[0]!.spanId])
  })

  it('carry the version, the service and the schema', async () => {
    const [span] = await exported(once((call) => call.end({ code: 200, source: 'runner' })))
    expect(span).toMatchObject({
      scope: 'foldgate',
      schemaUrl: 'https://opentelemetry.io/schemas/1.41.0',
      resource: { 'service.name': 'foldgate-test', 'service.version': '1.2.3' },
    })
  })

  it('stand at the time they say', async () => {
    const before = BigInt(Date.now() - 2) * 1_000_000n
    const spans = await exported(
      once(
        (call) => {
          const now = performance.now()
          call.layer('auth', 'request', { startMs: now, endMs: now + 0.25 })
          call.end({ code: 200, source: 'runner' })
        },
        { startMs: performance.now() - 50 },
      ),
    )
    const [server, layer] = spans as [OtlpSpan, OtlpSpan]
    expect(Number(layer.endNs - layer.startNs) / 1e6).toBeCloseTo(0.25, 2)
    expect(Number(layer.startNs - server.startNs) / 1e6).toBeGreaterThanOrEqual(49.9)
    expect(server.endNs).toBeGreaterThan(before)
    expect(server.endNs).toBeLessThan(BigInt(Date.now() + 2) * 1_000_000n)
  })

  it('are exported only where the trace is sampled', async () => {
    const names = (spans: OtlpSpan[]) => spans.map(({ traceId }) => traceId)
    const run = (tracing: Tracing) => {
      for (const flags of ['00', '01']) {
        tracing.begin({ ...start, traceparent: `00-${flags.repeat(16)}-00f067aa0ba902b7-${flags}` })
        const call = tracing.begin({ ...start, traceparent: `00-${'a1'.repeat(16)}-00f067aa0ba902b7-${flags}` })
        expect(call).toMatchObject({ sampled: flags === '01', recording: flags === '01' })
        expect(contextFromTraceparent(call.attempt(attempt).headers[0]![1])!.flags).toBe(Number(flags))
        call.end({ code: 200, source: 'runner' })
      }
    }
    expect(names(await exported(run, {}, 0))).toEqual(['a1'.repeat(16), 'a1'.repeat(16)])
    expect(
      await exported(
        once((call) => call.end({ code: 200, source: 'runner' })),
        {},
        0,
      ),
    ).toEqual([])
  })
})

describe('the attributes', () => {
  it('of a call follow the HTTP conventions, with what was set on the way', async () => {
    const [span] = await exported(
      once((call) => {
        call.set(layerAttributes('auth', { status: 'active', by: 'gateway' }))
        call.set({ 'foldgate.arm': 'gateway' })
        call.end({ code: 200, source: 'runner', attrs: { 'foldgate.execution_time_us': 1234 } })
      }),
    )
    expect(span!.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/v1/chat/completions',
      'url.scheme': 'http',
      'url.path': '/v1/chat/completions',
      'http.response.status_code': 200,
      'foldgate.route': 'chat',
      'foldgate.source': 'runner',
      'foldgate.arm': 'gateway',
      'foldgate.execution_time_us': 1234,
      'foldgate.layer.auth.status': 'active',
      'foldgate.layer.auth.by': 'gateway',
    })
    expect(span!.status).toBe(0)
  })

  it('of a try follow the GenAI conventions', async () => {
    const request = {
      model: 'm',
      messages: [],
      temperature: 0.5,
      max_tokens: 64,
      n: 2,
      stop: 'secret stop',
      top_p: null,
    }
    const run = once((call) => {
      call.attempt({ ...attempt, attrs: attributesFromRequest(request) }).end({
        status: 200,
        usage: {
          prompt_tokens: 700,
          completion_tokens: 128,
          prompt_tokens_details: { cached_tokens: 512 },
          completion_tokens_details: { reasoning_tokens: 5 },
        },
        finishReasons: ['stop', 'length'],
        ttftMs: 250,
        responseModel: 'smollm2-135m',
      })
      call.end({ code: 200, source: 'runner' })
    })
    const [, span] = await exported(run)
    expect(span!.attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'smollm2',
      'gen_ai.request.stream': true,
      'gen_ai.request.temperature': 0.5,
      'gen_ai.request.max_tokens': 64,
      'gen_ai.request.choice.count': 2,
      'gen_ai.response.model': 'smollm2-135m',
      'gen_ai.response.finish_reasons': ['stop', 'length'],
      'gen_ai.response.time_to_first_chunk': 0.25,
      'gen_ai.usage.input_tokens': 700,
      'gen_ai.usage.output_tokens': 128,
      'gen_ai.usage.cache_read.input_tokens': 512,
      'http.request.method': 'POST',
      'http.response.status_code': 200,
      'server.address': '127.0.0.1',
      'server.port': 8000,
      'foldgate.runner': 'gpu-a',
      'foldgate.attempt': 1,
    })
    const [, latest] = await exported(run, { OTEL_SEMCONV_STABILITY_OPT_IN: 'http, gen_ai_latest_experimental' })
    expect(latest!.schemaUrl).toBe('https://opentelemetry.io/schemas/gen-ai/1.42.0')
    expect(latest!.attributes).toMatchObject({ 'gen_ai.usage.reasoning.output_tokens': 5 })
  })

  it('of a call by a method nobody knows do not repeat it', async () => {
    const [span] = await exported(
      once((call) => call.end({ code: 405, source: 'gateway', error: 'method_not_allowed' }), {
        method: 'BREW-SECRET',
        path: '/v1/*',
      }),
    )
    expect(span).toMatchObject({ name: 'HTTP /v1/*', status: 0, attributes: { 'http.request.method': '_OTHER' } })
    expect(span!.attributes).not.toHaveProperty('url.path')
  })

  it('are cut where they are long', async () => {
    const [, span] = await exported(
      once((call) => {
        call.attempt({ ...attempt, model: 'm'.repeat(100_000) })
        call.end({ code: 200, source: 'runner' })
      }),
    )
    expect(String(span!.attributes['gen_ai.request.model']).length).toBeLessThanOrEqual(1024)
    expect(span!.name.length).toBeLessThanOrEqual(128)
  })
})
