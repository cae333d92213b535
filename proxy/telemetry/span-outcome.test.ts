import { describe, expect, it } from 'vitest'
import { failOnLeaks } from '../../test/support/leaks.ts'
import { costOf } from './cost.support.ts'
import { attempt, exported, once, start, traceparent } from './exported.support.ts'

failOnLeaks()

describe('a call that went wrong', () => {
  it.each([
    ['answered', { code: 200 }, 0, undefined],
    ['refused by a layer', { code: 429, error: 'rate_limited' }, 0, undefined],
    ['given up by its caller before an answer', { code: 499, error: 'client_closed' }, 0, 'client_closed'],
    ['given up by its caller in the middle', { code: 200, error: 'client_closed' }, 0, 'client_closed'],
    ['failed before an answer', { code: 502, error: 'runner_error' }, 2, 'runner_error'],
    ['failed in the middle', { code: 200, error: 'runner_timeout' }, 2, 'runner_timeout'],
    ['passed on as the runner said it', { code: 500 }, 2, '500'],
  ] as const)('%s says so', async (_, end, status, type) => {
    const [span] = await exported(once((call) => call.end({ source: 'gateway', ...end })))
    expect(span!.status).toBe(status)
    expect(span!.attributes['error.type']).toBe(type)
    expect(span!.attributes['foldgate.error.code']).toBe('error' in end ? end.error : undefined)
  })

  it.each([
    ['answered 400', { status: 400 }, 2, '400'],
    ['was given up', { status: 200, error: 'client_closed' }, 0, 'client_closed'],
    ['broke', { status: 200, error: 'runner_error' }, 2, 'runner_error'],
  ] as const)('has a try that %s and says so', async (_, end, status, type) => {
    const [, span] = await exported(
      once((call) => {
        call.attempt(attempt).end(end)
        call.end({ code: 200, source: 'gateway' })
      }),
    )
    expect(span!.status).toBe(status)
    expect(span!.attributes['error.type']).toBe(type)
  })

  it('ends its open tries with it, and every span once', async () => {
    let open = -1
    const spans = await exported((tracing) => {
      const call = tracing.begin(start)
      const tried = call.attempt(attempt)
      call.end({ code: 499, source: 'gateway', error: 'client_closed' })
      tried.end({ status: 200 })
      tried.end({ status: 500 })
      call.end({ code: 200, source: 'runner' })
      call.set({ 'foldgate.stage': 'late' })
      call.layer('auth', 'response', { startMs: 0, endMs: 1 })
      call.attempt(attempt).end({ status: 200 })
      open = tracing.open
    })
    expect(open).toBe(0)
    expect(spans.map(({ name }) => name)).toEqual(['POST /v1/chat/completions', 'chat smollm2', 'chat smollm2'])
    for (const span of spans) expect(span).toMatchObject({ status: 0, attributes: { 'error.type': 'client_closed' } })
    expect(spans[0]!.attributes).not.toHaveProperty('foldgate.stage')
  })
})

it('a call that is exported costs what the SDK costs', async () => {
  let microseconds = 0
  await exported((tracing) => {
    const call = () => {
      const span = tracing.begin({ ...start, traceparent })
      const now = performance.now()
      for (const name of ['auth', 'rate-limit', 'cache', 'routing', 'prompt', 'postprocess']) {
        span.layer(name, 'request', { startMs: now, endMs: now })
      }
      span.attempt(attempt).end({ status: 200, usage: { prompt_tokens: 1, completion_tokens: 2 } })
      span.end({ code: 200, source: 'runner' })
    }
    microseconds = costOf('tracing, exported, 8 spans', 500, call)
  })
  expect(microseconds).toBeLessThan(1000)
})
