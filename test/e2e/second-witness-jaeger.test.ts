import { describe, expect, it } from 'vitest'
import { type Jaeger, jaegerAvailable, startJaeger } from '../../proxy/outside/traces/jaeger-process.support.ts'
import { layerAttributes } from '../../proxy/telemetry/gen-ai.ts'
import { createTracing } from '../../proxy/telemetry/tracing.ts'
import { until } from '../support/gate.ts'
import { type FoldingRig, startFoldingRig } from './folding-rig.ts'

if (!jaegerAvailable)
  console.warn('no jaeger on the PATH or in JAEGER: the tests of the second witness with a real Jaeger are skipped')

const calls = 60
/** What Jaeger must hold before anybody decides; the rest may still be on its way there. */
const held = 30

/** A gateway with a layer in its shadow that exports every call to a Jaeger and asks the same one; it is held until `decided`. */
async function startShadow(jaeger: Jaeger) {
  const rig = await startFoldingRig({
    stages: { postprocess: 'shadow' },
    layers: { cache: undefined },
    config: {
      folding: { policy: { stages: [100], autopilot: true } },
      telemetry: {
        ...{ otlpEndpoint: jaeger.otlp, sampleRatio: 1 },
        traceStore: { kind: 'jaeger', url: jaeger.query, minCalls: 10 },
      },
    },
    pace: (constants) => ({
      ...constants,
      needs: { ...constants.needs, dwellMs: 0, perStratum: 1, strata: [], differences: 1, triples: 0 },
    }),
  })
  const call = async (number: number): Promise<void> => {
    const answer = await rig.chat({ messages: [{ role: 'user', content: `call ${number}` }] })
    expect(answer.status).toBe(200)
    await answer.text()
  }
  expect((await rig.move('postprocess', 'hold')).status).toBe(200)
  for (let number = 0; number < calls; number++) await call(number)
  await until(async () => (await callsIn(jaeger, rig)) >= held, `Jaeger holds ${held} calls`, 20_000)
  return {
    rig,
    /** Lets it decide, and goes on calling until it has. */
    async decided(): Promise<void> {
      expect((await rig.move('postprocess', 'resume')).status).toBe(200)
      for (let number = calls; number < 1_000 && !isDecided(rig); number++) await call(number)
    },
    [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose](),
  }
}

const stageOf = ({ gateway }: FoldingRig) => gateway.setup().folding.stageOf('postprocess')
const isDecided = (rig: FoldingRig) => stageOf(rig).stage !== 'shadow' || stageOf(rig).held === true
const saidIn = ({ gateway }: FoldingRig, message: string) => gateway.lines.find(({ msg }) => msg === message)

/** Calls of the rollout under way, as anybody may ask Jaeger for them. */
async function callsIn(jaeger: Jaeger, rig: FoldingRig): Promise<number> {
  const tags = JSON.stringify({ 'foldgate.rollout': stageOf(rig).rollout })
  const query = new URLSearchParams({ service: 'foldgate', limit: '1000', lookback: '1h', tags })
  const { data } = (await (await fetch(`${jaeger.query}/api/traces?${query}`)).json()) as { data: unknown[] | null }
  return data?.length ?? 0
}

/** What a faulty replica, or somebody else, could have left there: calls of the same rollout that failed. */
async function exportFailures(otlpEndpoint: string, rollout: string | undefined): Promise<void> {
  const config = { otlpEndpoint, sampleRatio: 1, serviceName: 'foldgate' }
  const options = { version: '0.1.0', onDropped: () => undefined, delayMs: 1, environment: {} }
  const tracing = await createTracing(config, options)
  for (let number = 0; number < calls; number++) {
    const span = tracing.begin({ route: 'chat', method: 'POST', path: '/v1/chat/completions' })
    span.set({
      ...{ 'foldgate.arm': 'shadow', 'foldgate.stage': 'shadow', 'foldgate.rollout': rollout },
      ...layerAttributes('postprocess', { status: 'evaporation-started', by: 'gateway' }),
    })
    span.end({ code: 502, source: 'runner', error: 'runner_error' })
  }
  await tracing.close()
}

describe.skipIf(!jaegerAvailable)('a real Jaeger as the second witness', { timeout: 60_000 }, () => {
  it('holds the calls that were counted, and the layer is promoted', async () => {
    await using jaeger = await startJaeger()
    await using shadow = await startShadow(jaeger)
    await shadow.decided()
    expect(stageOf(shadow.rig)).toMatchObject({ stage: 'canary', weight: 100 })
    expect(saidIn(shadow.rig, 'the second witness agrees')).toMatchObject({
      layer: 'postprocess',
      words: expect.stringMatching(/^[3-9]\d\d? sampled calls in the trace store fit the \d+ calls of the arm shadow/),
    })
    expect(saidIn(shadow.rig, 'promoted without a second witness')).toBeUndefined()
  })

  it('holds failures that nobody counted, and the layer stays where it is', async () => {
    await using jaeger = await startJaeger()
    await using shadow = await startShadow(jaeger)
    const { rig } = shadow
    await exportFailures(jaeger.otlp, stageOf(rig).rollout)
    await until(async () => (await callsIn(jaeger, rig)) >= held + calls, 'Jaeger holds the failures', 20_000)
    await shadow.decided()
    expect(stageOf(rig)).toMatchObject({ stage: 'shadow', held: true })
    expect(saidIn(rig, 'not promoted')).toMatchObject({
      layer: 'postprocess',
      reason: expect.stringMatching(
        /^the second witness disagrees: arm shadow: the trace store holds \d+ (bad )?calls/,
      ),
    })
  })
})
