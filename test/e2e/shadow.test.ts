import { describe, expect, it } from 'vitest'
import { pass } from '../../plugins/verdict.ts'
import { foldgateHere } from '../../proxy/cli/test-command.ts'
import { byPath, completion } from '../support/chat-replies.ts'
import { json } from '../support/reply.ts'
import { startUpstream } from '../support/upstream.ts'
import { startFoldingRig } from './folding-rig.ts'
import { faultyLayers, layerNames, mixedLoad, stagesWith, viewOf } from './shadow-rig.ts'

const fewRequests = {
  limits: [{ key_fields: ['tenant'], requests_per_minute: 8, tokens_per_minute: 60_000, burst_capacity: 60_000 }],
}
const planted = { messages: [{ role: 'user', content: 'planted' }] }

describe('two equal halves', () => {
  it.each(layerNames.toReversed())('%s in shadow differs in nothing over a mixed load', async (layer) => {
    await using rig = await startFoldingRig({
      stages: stagesWith(layer, 'shadow'),
      layers: layer === 'rate-limit' ? { 'rate-limit': fewRequests } : {},
    })
    const statuses = await mixedLoad(rig)
    const { layers } = await viewOf(rig)
    expect(layers[layer]).toMatchObject({ stage: 'shadow', hard: 0, f1: {}, signatures: [] })
    expect(layers[layer]?.total).toMatchObject({ differs: 0, coverage: 1 })
    expect(layers[layer]?.total.equal).toBeGreaterThan(10)
    expect(statuses).toContain(200)
    // All that comes as far as the limit, and the limit refuses.
    if (layer === 'rate-limit') expect(statuses).toContain(429)
  })

  it.each(layerNames.toReversed())('%s in canary differs in nothing hard over a mixed load', async (layer) => {
    await using rig = await startFoldingRig({
      stages: stagesWith(layer, 'canary'),
      config: { folding: { policy: { stages: [100], tiers: ['free', 'vip', 'others', 'last'] } } },
    })
    await mixedLoad(rig)
    const { layers } = await viewOf(rig)
    expect(layers[layer]).toMatchObject({ hard: 0, f1: {}, signatures: [] })
    expect(layers[layer]?.total.equal).toBeGreaterThan(5)
  })

  it('prompt in canary is compared also where the gateway has put in the model and asked for usage', async () => {
    await using rig = await startFoldingRig({
      stages: stagesWith('prompt', 'canary'),
      layers: { cache: undefined },
      config: { folding: { policy: { stages: [50, 100], tiers: [] } } },
    })
    const calls = 20
    for (let call = 0; call < calls; call++) {
      const response = await rig.chat(
        { model: 'gpt-4o', stream: call % 2 === 0, messages: [{ role: 'user', content: `question ${call}` }] },
        { 'x-conversation-id': `c${call}` },
      )
      await response.text()
    }
    const { layers } = await viewOf(rig)
    expect(layers['prompt']).toMatchObject({ hard: 0, skipped: {}, total: { equal: calls, differs: 0, coverage: 1 } })
  })

  it('a choice among targets that rests on a side’s own counters is judged over what the deciding side read', async () => {
    const served = { object: 'list', data: ['echo', 'large'].map((id) => ({ id, object: 'model' })) }
    await using upstream = await startUpstream(
      byPath({ '/v1/models': json(served), '/v1/chat/completions': completion('hello') }),
    )
    await using rig = await startFoldingRig({
      echo: { engine: 'openai', upstream: upstream.url, model: undefined },
      stages: stagesWith('routing', 'shadow'),
      layers: {
        cache: undefined,
        routing: {
          targets: [
            { runner: 'a', model: 'echo', weight: 3 },
            { runner: 'a', model: 'large', weight: 1 },
          ],
        },
      },
    })
    await Promise.all(Array.from({ length: 3 }, () => mixedLoad(rig, 20)))
    const { layers } = await viewOf(rig)
    expect(layers['routing']).toMatchObject({ hard: 0, signatures: [] })
    expect(layers['routing']?.total.equal).toBeGreaterThan(10)
  })
})

describe('a fault in the runner’s half', () => {
  it('is seen with its signature, and the caller does not notice', async () => {
    const layers = faultyLayers('prompt', (half) => ({
      ...half,
      decide: async (call, mode) => {
        const verdict = await half.decide?.(call, mode)
        if (verdict?.kind !== 'pass' || !call.body.includes('planted')) return verdict ?? pass()
        return pass(verdict.facts, { ...call.request, messages: [{ role: 'system', content: 'other rules' }] })
      },
    }))
    await using rig = await startFoldingRig({ stages: stagesWith('prompt', 'shadow'), execution: { layers } })
    const answers = [await rig.chat(), await rig.chat(planted), await rig.chat({ ...planted, temperature: 1 })]
    for (const answer of answers) expect(answer.status).toBe(200)
    const view = await viewOf(rig, '?layer=prompt')
    expect(view.layers['prompt']).toMatchObject({ hard: 2, total: { equal: 1, differs: 2 } })
    const [signature] = view.layers['prompt']?.signatures ?? []
    expect(signature).toMatchObject({
      class: 'H',
      kind: 'digest',
      count: 2,
      signature: expect.stringMatching(/^[0-9a-f]{16}$/),
    })
    expect(signature?.exemplars).toHaveLength(2)
    expect(JSON.stringify(view)).not.toContain('planted')
    const { code, out } = await foldgateHere(['diff', 'prompt', '-o', 'wide', '--admin', rig.gateway.adminUrl])
    expect([code, out]).toEqual([0, expect.stringContaining(signature?.signature ?? '?')])
    const { text } = await metricsOf(rig.gateway.adminUrl)
    expect(text).toContain('foldgate_shadow_comparisons_total{layer="prompt",verdict="differs"} 2')
  })

  it('that lets in whom the gateway refuses is a false allow at the first, and nobody gets in', async () => {
    const layers = faultyLayers('auth', (half) => ({
      ...half,
      decide(call, mode) {
        if (call.headers['authorization'] !== 'Bearer planted') return half.decide?.(call, mode) ?? pass()
        const principal = { id: 'x', tenant: 't1', tier: '', scopes: [], claims: {}, method: 'api-key' } as const
        return pass({ principal })
      },
    }))
    for (const stage of ['shadow', 'canary'] as const) {
      await using rig = await startFoldingRig({ stages: stagesWith('auth', stage), execution: { layers } })
      const response = await rig.chat({}, { authorization: 'Bearer planted' })
      expect(response.status).toBe(401)
      const { layers: found } = await viewOf(rig)
      expect(found['auth']).toMatchObject({ hard: 1, f1: { 'auth-false-allow': 1 } })
    }
  })

  it('that somebody answers for is counted as ignored, and says what it blocks', async () => {
    const layers = faultyLayers('postprocess', (half) => ({
      ...half,
      decide: (call, mode) =>
        call.body.includes('planted') ? Promise.reject(new TypeError('x')) : (half.decide?.(call, mode) ?? pass()),
    }))
    const ignore = [{ layer: '*', pathPattern: '**', class: 'H', reason: 'known', owner: 'me', expires: '2999-01-01' }]
    await using rig = await startFoldingRig({
      stages: stagesWith('postprocess', 'shadow'),
      execution: { layers },
      config: { folding: { shadow: { ignore } } },
    })
    await rig.chat(planted)
    const { layers: found } = await viewOf(rig)
    expect(found['postprocess']).toMatchObject({ hard: 0, total: { ignored: 1, differs: 0 }, blockedBy: ignore })
  })
})

describe('what is compared', () => {
  it('is a share of the calls where the configuration says so', async () => {
    await using rig = await startFoldingRig({
      stages: stagesWith('prompt', 'shadow'),
      config: { folding: { shadow: { sample: 0 } } },
    })
    await rig.chat()
    const { layers } = await viewOf(rig)
    expect(layers['prompt']).toMatchObject({ total: { equal: 0, coverage: 1 }, skipped: { 'not-drawn': 1 } })
  })

  it('outlives a reload', async () => {
    await using rig = await startFoldingRig({ stages: stagesWith('postprocess', 'shadow') })
    await rig.chat()
    await viewOf(rig)
    await rig.gateway.live.reload('a test')
    await rig.chat({ temperature: 0.3 })
    const { layers } = await viewOf(rig)
    expect(layers['postprocess']?.total.equal).toBe(2)
  })

  it('is heard with the rollout it belongs to, and a layer that nobody knows is not found', async () => {
    await using rig = await startFoldingRig({
      stages: stagesWith('postprocess', 'shadow'),
      config: { folding: { shadow: { endToEndSample: 0 } } },
    })
    const heard: unknown[] = []
    rig.gateway.setup().folding.shadow.comparing.listen((each) => heard.push(each))
    await rig.chat()
    await viewOf(rig)
    const rollout = rig.gateway.setup().folding.stageOf('postprocess').rollout
    expect(rollout).toEqual(expect.any(String))
    expect(heard).toMatchObject([{ comparison: { layer: 'postprocess', verdict: 'equal' }, as: 'equal', rollout }])
    expect((await fetch(`${rig.gateway.adminUrl}/-/diffs?layer=nothing`)).status).toBe(404)
    expect((await fetch(`${rig.gateway.adminUrl}/-/diffs?legacy`)).status).toBe(404)
  })
})

async function metricsOf(adminUrl: string): Promise<{ text: string }> {
  return { text: await (await fetch(`${adminUrl}/metrics`)).text() }
}
