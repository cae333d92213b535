import { expect, it } from 'vitest'
import type { StageConstants } from '../../proxy/folding/rollout/stage-constants.ts'
import { targetOf } from '../../proxy/outside/traces/stores.support.ts'
import type { Exchange } from '../support/exchange.ts'
import { until } from '../support/gate.ts'
import { json, type Reply } from '../support/reply.ts'
import { startUpstream } from '../support/upstream.ts'
import { type FoldingRig, startFoldingRig } from './folding-rig.ts'

/** The gates of a shadow in a number of calls that a test can wait for. */
const pace = (constants: StageConstants): StageConstants => ({
  ...constants,
  needs: { ...constants.needs, dwellMs: 0, perStratum: 1, strata: [], differences: 1, triples: 0 },
})

/** A Jaeger in which a part of the calls of this rollout has failed, whatever was counted here. */
function failing(share: number): (request: Exchange) => Reply {
  return (request) => {
    const { query } = targetOf(request)
    const tags = JSON.parse(query['tags'] ?? '{}') as Record<string, string>
    const startTime = Number(query['start'])
    const attributes = { ...tags, 'foldgate.arm': 'shadow', 'foldgate.layer.postprocess.status': 'evaporation-started' }
    const traces = Array.from({ length: 10 }, (_, index) => {
      const id = (index + 1).toString(16).padStart(16, '0')
      const error = index < share * 10 ? [{ key: 'otel.status_code', type: 'string', value: 'ERROR' }] : []
      const told = Object.entries(attributes).map(([key, value]) => ({ key, type: 'string', value }))
      const span = { traceID: id, spanID: id, operationName: 'POST', startTime, duration: 5, processID: 'p1' }
      const spans = [{ ...span, references: [], logs: [], warnings: null, tags: [...told, ...error] }]
      return { traceID: id, spans, processes: { p1: { serviceName: 'foldgate', tags: [] } }, warnings: null }
    })
    return json({ data: traces, total: 0, limit: 0, offset: 0, errors: null })
  }
}

const stageNow = ({ gateway }: FoldingRig) => gateway.setup().folding.stageOf('postprocess')

async function inShadow(url: string, until: (rig: FoldingRig) => boolean): Promise<FoldingRig> {
  const rig = await startFoldingRig({
    stages: { postprocess: 'shadow' },
    layers: { cache: undefined },
    config: {
      folding: { policy: { stages: [100], autopilot: true } },
      telemetry: { traceStore: { kind: 'jaeger', url, minCalls: 10 } },
    },
    pace,
  })
  for (let call = 0; call < 2_000 && !until(rig); call++) {
    const answer = await rig.chat({ messages: [{ role: 'user', content: `call ${call}` }] })
    expect(answer.status).toBe(200)
    await answer.text()
  }
  return rig
}

it('a trace store that shows what was not counted here keeps a layer where it is, and says so', async () => {
  await using jaeger = await startUpstream(failing(0.8))
  await using rig = await inShadow(jaeger.url, (now) => stageNow(now).held === true)
  expect(stageNow(rig)).toMatchObject({ stage: 'shadow', held: true })
  const line = rig.gateway.lines.find(({ msg }) => msg === 'not promoted')
  expect(line).toMatchObject({
    layer: 'postprocess',
    reason: expect.stringMatching(/^the second witness disagrees: arm shadow: the trace store holds /),
  })
}, 60_000)

it('a trace store that fails stops nothing, and the log says that it was not heard', async () => {
  await using jaeger = await startUpstream(json({ errors: [] }, 500))
  await using rig = await inShadow(jaeger.url, (now) => stageNow(now).stage !== 'shadow')
  await until(() => stageNow(rig).stage !== 'shadow', 'the layer has moved on')
  expect(rig.gateway.lines.find(({ msg }) => msg === 'promoted without a second witness')).toMatchObject({
    words: expect.stringContaining('could not be asked'),
  })
}, 60_000)
