import { describe, expect, it } from 'vitest'
import { until } from '../../../test/support/gate.ts'
import { createHttp } from '../../host.ts'
import { layerAttributes } from '../../telemetry/gen-ai.ts'
import { createTracing } from '../../telemetry/tracing.ts'
import { jaegerAvailable, startJaeger } from './jaeger-process.support.ts'
import type { WitnessQuestion } from './question.ts'
import { createWitness } from './witness.ts'

if (!jaegerAvailable)
  console.warn('no jaeger on the PATH or in JAEGER: the test of the trace store with a real Jaeger is skipped')

/** Exports calls as the gateway does: 40 of the control, 20 of the runner, of which 3 fail and 4 fall back (1 by its caller). */
async function exportCalls(otlpEndpoint: string, rollout: string): Promise<void> {
  const config = { otlpEndpoint, sampleRatio: 1, serviceName: 'foldgate' }
  const tracing = await createTracing(config, {
    version: '0.1.0',
    onDropped: () => undefined,
    delayMs: 1,
    environment: {},
  })
  for (let number = 0; number < 60; number++) {
    const native = number < 20
    const span = tracing.begin({ route: 'chat', method: 'POST', path: '/v1/chat/completions' })
    const reason = number === 10 ? 'schema-keyword' : number > 10 && number < 14 ? 'runner-timeout' : undefined
    const said = { status: reason ? 'fallback' : 'evaporation-accelerating', by: native ? 'runner' : 'gateway', reason }
    span.set({
      'foldgate.arm': native ? 'native' : 'gateway',
      'foldgate.stage': 'canary 10 %',
      'foldgate.rollout': rollout,
      ...layerAttributes('rate-limit', said),
    })
    if (number < 3) span.end({ code: 502, source: 'runner', error: 'runner_error' })
    else span.end({ code: 200, source: 'runner' })
  }
  await tracing.close()
}

describe.skipIf(!jaegerAvailable)('a real Jaeger', () => {
  it.each(['jaeger', 'jaeger-v3'] as const)(
    'asked as %s counts what the gateway exported',
    { timeout: 60_000 },
    async (kind) => {
      await using jaeger = await startJaeger()
      const http = createHttp()
      const fromMs = Date.now() - 1_000
      await exportCalls(jaeger.otlp, 'this')
      await exportCalls(jaeger.otlp, 'another')
      const config = { kind, url: jaeger.query, tokenFile: null, tenant: null, sampling: 'head' } as const
      const limits = { minCalls: 10, maxTraces: 500, alpha: 0.001, timeoutMs: 5_000 }
      const witness = createWitness({ ...config, ...limits }, { http, secret: () => Buffer.alloc(0) })!
      const asked = { service: 'foldgate', layer: 'rate-limit', rollout: 'this', stage: 'canary 10 %' }
      const question: WitnessQuestion = { ...asked, fromMs, toMs: Date.now() + 60_000 }
      await until(
        async () => (await witness.ask(question)).arms['gateway']?.calls === 40,
        'Jaeger has every call',
        20_000,
      )
      const arms = { native: { calls: 20, bad: 3, fallbacks: 3 }, gateway: { calls: 40, bad: 0, fallbacks: 0 } }
      expect((await witness.ask(question)).arms).toEqual(arms)
      expect((await witness.compare(question, arms)).verdict).toBe('agree')
      const blind = { ...arms, native: { calls: 4_000, bad: 0, fallbacks: 0 } }
      expect((await witness.compare(question, blind)).verdict).toBe('disagree')
      const elsewhere = { ...question, toMs: fromMs }
      expect((await witness.ask(elsewhere)).arms).toEqual({})
      await http.close()
    },
  )
})
