import { describe, expect, it } from 'vitest'
import { freePort } from '../../../test/support/ports.ts'
import { reply } from '../../../test/support/reply.ts'
import { startUpstream } from '../../../test/support/upstream.ts'
import { start } from '../../telemetry/exported.support.ts'
import { createTracing, type TracingConfig, type TracingOptions } from '../../telemetry/tracing.ts'
import { collecting, drawnFor, endOf, type TestEnd } from './test-calls.ts'

const calls: readonly TestEnd[] = [
  ...[1, 2, 3, 4, 5].map((unit) => ({ unit })),
  { unit: 6, code: 500 },
  { unit: 7, fallback: 'runner-timeout' },
  { unit: 8, code: 429 },
  { unit: 9, arm: 'control' },
]

/** What a collector has counted at the ends of spans. */
async function countedWith(config: Partial<TracingConfig>, options: Partial<TracingOptions> = {}) {
  const collector = collecting()
  const tracing = await createTracing(
    { otlpEndpoint: null, sampleRatio: 1, serviceName: 'foldgate', ...config },
    { version: '0.1.0', onDropped: () => {}, onEnd: collector.onEnd, environment: {}, ...options },
  )
  const sampled = calls.map((call) => {
    const flight = collector.assigned(drawnFor(call))
    const span = tracing.begin(start)
    span.end(endOf(call))
    span.end(endOf({ ...call, code: 500 }))
    flight.over()
    return span.recording
  })
  const flush = collector.flush('r1')
  await tracing.close()
  return { flush, recorded: sampled.filter(Boolean).length }
}

describe('the ends of spans are counted alike', () => {
  const expected = async () => (await countedWith({})).flush

  it('and in full, where nobody exports them', async () => {
    const { canary, control } = (await expected()).cells[0]!
    expect(canary).toMatchObject({ assigned: 8, ended: 8, bad: 1, fallbacks: { 'runner-timeout': 1 }, timed: 6 })
    expect(control).toMatchObject({ assigned: 1, ended: 1 })
  })

  it('where all are exported, and where none is sampled (scenario 21)', async () => {
    await using upstream = await startUpstream(reply(200).length())
    const all = await countedWith({ otlpEndpoint: upstream.url })
    const none = await countedWith({ otlpEndpoint: upstream.url, sampleRatio: 0 })
    expect([all.recorded, none.recorded]).toEqual([calls.length, 0])
    expect(upstream.requests).toHaveLength(1)
    for (const { flush } of [all, none]) expect(flush).toEqual(await expected())
  })

  it('where the collector of traces is down, and its queue overflows (scenario 21)', async () => {
    let dropped = 0
    const down = await countedWith(
      { otlpEndpoint: `http://127.0.0.1:${await freePort()}` },
      { queueSize: 2, batchSize: 1, closeTimeoutMs: 500, onDropped: (spans) => (dropped += spans) },
    )
    expect(down.recorded).toBe(calls.length)
    expect(dropped).toBeGreaterThan(0)
    expect(down.flush).toEqual(await expected())
  })

  it('where the SDK is disabled', async () => {
    const disabled = await countedWith(
      { otlpEndpoint: 'http://127.0.0.1:9' },
      { environment: { OTEL_SDK_DISABLED: 'true' } },
    )
    expect(disabled.recorded).toBe(0)
    expect(disabled.flush).toEqual(await expected())
  })
})
