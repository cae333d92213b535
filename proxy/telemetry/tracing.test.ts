import { describe, expect, it } from 'vitest'
import { failOnLeaks } from '../../test/support/leaks.ts'
import { startProcess } from '../../test/support/processes.ts'
import type { CallSpan, CallStart } from './call-span.ts'
import { costOf } from './cost.support.ts'
import { contextFromTraceparent } from './trace-context.ts'
import { createTracing, type TracingConfig } from './tracing.ts'

// The SDK touches stdout and stderr when it is loaded, which opens them: that is no leak of a test.
import './recorder.ts'

failOnLeaks()

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanId = '00f067aa0ba902b7'
const start: CallStart = { route: 'chat', method: 'POST', path: '/v1/chat/completions' }
const attempt = { runner: 'gpu-a', address: '127.0.0.1', port: 8000, stream: false, operation: 'chat' }
const create = (config: Partial<TracingConfig> = {}) =>
  createTracing(
    { otlpEndpoint: null, sampleRatio: 1, serviceName: 'foldgate', ...config },
    { version: '0.1.0', onDropped: () => {} },
  )

/** What a runner would get with one try of the call. */
const told = (call: CallSpan) => Object.fromEntries(call.attempt(attempt).headers)

describe('a call whose spans nobody exports', () => {
  it.each([0, 1])('continues its caller’s trace and keeps the flag %i', async (flag) => {
    const tracing = await create({ sampleRatio: flag === 1 ? 0 : 1 })
    const call = tracing.begin({ ...start, traceparent: `00-${traceId}-${spanId}-0${flag}`, tracestate: 'a=1' })
    const { traceparent, tracestate } = told(call)
    const runner = contextFromTraceparent(traceparent)!
    expect(runner).toMatchObject({ traceId, flags: flag })
    expect([spanId, call.spanId]).not.toContain(runner.spanId)
    expect(call).toMatchObject({ traceId, sampled: flag === 1, recording: false })
    expect(tracestate).toBe('a=1')
  })

  it.each([
    ['malformed', 'hello'],
    ['upper-case', `00-${traceId.toUpperCase()}-${spanId}-01`],
    ['all-zero', `00-${'0'.repeat(32)}-${spanId}-01`],
    ['repeated', `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`],
    ['absent', undefined],
  ])('begins a trace of its own when the traceparent is %s', async (_, traceparent) => {
    const tracing = await create()
    const call = tracing.begin({ ...start, traceparent, tracestate: 'a=1' })
    expect(call.traceId).toMatch(/^[\da-f]{32}$/)
    expect(call.traceId).not.toBe(traceId)
    expect(contextFromTraceparent(told(call)['traceparent'])?.traceId).toBe(call.traceId)
    expect(told(call)).not.toHaveProperty('tracestate')
  })

  it('gives every try an id of its own', async () => {
    const call = (await create()).begin(start)
    const tries = [call.attempt(attempt), call.attempt(attempt), call.attempt(attempt)]
    const sent = tries.map(({ headers }) => contextFromTraceparent(Object.fromEntries(headers)['traceparent'])!.spanId)
    expect(sent).toEqual(tries.map((each) => each.spanId))
    expect(new Set([...sent, call.spanId]).size).toBe(4)
  })

  it('tells the runner nothing but the context of the trace', async () => {
    const call = (await create()).begin({ ...start, traceparent: `00-${traceId}-${spanId}-01` })
    expect(Object.keys(told(call))).toEqual(['traceparent'])
  })

  it('is open until it ends, once', async () => {
    const tracing = await create()
    const [one, two] = [tracing.begin(start), tracing.begin(start)]
    expect(tracing.open).toBe(2)
    one.end({ code: 200, source: 'runner' })
    one.end({ code: 499, source: 'gateway', error: 'client_closed' })
    expect(tracing.open).toBe(1)
    two.end({ code: 499, source: 'gateway', error: 'client_closed' })
    expect(tracing.open).toBe(0)
  })
})

describe('new traces', () => {
  it.each([
    [0, 0, 0],
    [0.1, 0.07, 0.13],
    [1, 1, 1],
  ])('of a ratio of %d are sampled in that share', async (sampleRatio, least, most) => {
    const tracing = await create({ sampleRatio })
    const share = Array.from({ length: 5000 }, () => tracing.begin(start)).filter((call) => call.sampled).length / 5000
    expect(share).toBeGreaterThanOrEqual(least)
    expect(share).toBeLessThanOrEqual(most)
  })
})

describe('the OpenTelemetry SDK', () => {
  const loaded = async (otlpEndpoint: string | null, env: Record<string, string> = {}) => {
    const script = `
      import { registerHooks } from 'node:module'
      const seen = []
      registerHooks({ resolve: (name, context, next) => { seen.push(name); return next(name, context) } })
      const { createTracing } = await import(${JSON.stringify(import.meta.resolve('./tracing.ts'))})
      const config = { otlpEndpoint: ${JSON.stringify(otlpEndpoint)}, sampleRatio: 1, serviceName: 's' }
      const tracing = await createTracing(config, { version: '1', onDropped() {} })
      tracing.begin(${JSON.stringify(start)}).end({ code: 200, source: 'runner' })
      console.log(JSON.stringify(seen.filter((name) => name.startsWith('@opentelemetry/'))))
      process.exit(0)`
    await using child = await startProcess({ args: ['--input-type=module', '-e', script], env })
    expect(await child.exit).toMatchObject({ code: 0 })
    return JSON.parse(child.stdout) as string[]
  }

  it('is not loaded without a collector to send to, nor when it is disabled', async () => {
    expect(await loaded(null)).toEqual([])
    expect(await loaded('http://127.0.0.1:1', { OTEL_SDK_DISABLED: 'true' })).toEqual([])
  })

  it('is loaded when there is one, without its gRPC and Zipkin exporters', async () => {
    const names = await loaded('http://127.0.0.1:1')
    expect(names).toContain('@opentelemetry/sdk-trace')
    expect(names.join()).not.toMatch(/grpc|zipkin|sdk-node/)
  })

  it('an endpoint that is no URL is refused by name', async () => {
    for (const otlpEndpoint of ['collector:4318', 'grpc://collector:4317', '/v1/traces']) {
      await expect(create({ otlpEndpoint })).rejects.toMatchObject({
        code: 'config_invalid',
        message: 'telemetry.otlpEndpoint: must be an http or https URL',
      })
    }
  })
})

it('a call that nobody exports costs a few microseconds at most', async () => {
  const tracing = await create()
  const traceparent = `00-${traceId}-${spanId}-01`
  const once = () => {
    const call = tracing.begin({ ...start, traceparent })
    for (const name of ['auth', 'rate-limit', 'cache', 'routing', 'prompt', 'postprocess']) {
      call.layer(name, 'request', { startMs: 1, endMs: 2 })
    }
    const tried = call.attempt(attempt)
    tried.end({ status: 200 })
    call.end({ code: 200, source: 'runner' })
  }
  expect(costOf('tracing, not exported', 10_000, once)).toBeLessThan(60)
})
