import { describe, expect, it } from 'vitest'
import { pass } from '../../plugins/verdict.ts'
import { startFoldingRig } from './folding-rig.ts'
import { faultyLayers, layerNames, stagesWith, viewOf } from './shadow-rig.ts'

const every = { shadow: { endToEndSample: 1 } }
const bodies = [
  {},
  { stream: true },
  { messages: [{ role: 'user', content: 'write to a@example.com' }], temperature: 0 },
  {
    messages: [{ role: 'user', content: 'again' }],
    max_tokens: 1,
    stream: true,
    stream_options: { include_usage: true },
  },
]

describe('copies of calls', () => {
  it.each(layerNames)('of two equal ways tie while %s moves', async (layer) => {
    await using rig = await startFoldingRig({ stages: stagesWith(layer, 'shadow'), config: { folding: every } })
    for (const body of bodies) expect((await rig.chat(body)).status).toBe(200)
    const { pairs, layers } = await viewOf(rig)
    const { worse, better, ties, left } = pairs[layer] ?? { worse: -1, better: -1, ties: -1, left: {} }
    expect({ worse, better, left }).toEqual({ worse: 0, better: 0, left: {} })
    expect(ties).toBeGreaterThan(1)
    expect(layers['answer']?.total).toMatchObject({ differs: 0, equal: ties })
  })

  it('tell a new way that answers otherwise from the old one, which repeats itself', async () => {
    const layers = faultyLayers('prompt', (half) => ({
      ...half,
      decide: async (call, mode) => {
        const verdict = (await half.decide?.(call, mode)) ?? pass()
        if (verdict.kind !== 'pass') return verdict
        return pass(verdict.facts, {
          ...call.request,
          messages: [{ role: 'user', content: 'something else entirely' }],
        })
      },
    }))
    await using rig = await startFoldingRig({
      stages: stagesWith('prompt', 'shadow'),
      execution: { layers },
      config: { folding: every },
    })
    const heard: unknown[] = []
    rig.gateway.setup().folding.shadow.listenPairs(({ layer, outcome }) => heard.push([layer, outcome.differs]))
    const answer = (await (await rig.chat()).json()) as { choices: { message: { content: string } }[] }
    expect(answer.choices[0]?.message.content).toBe('one two three')
    const { pairs } = await viewOf(rig)
    expect(pairs['prompt']).toMatchObject({ worse: 1, better: 0, ties: 0, farther: 1, repeated: 1 })
    expect(pairs['prompt']?.renewed).toBeLessThan(1)
    expect(heard).toEqual([['prompt', 1]])
    expect(await (await fetch(`${rig.gateway.adminUrl}/metrics`)).text()).toMatch(
      /foldgate_behaviour_drift_index\{runner="a",model="echo"\} (0\.\d|1)/,
    )
  })

  it('bill nobody, keep nothing and stand in no status (scenario 15)', async () => {
    await using rig = await startFoldingRig({ stages: stagesWith('rate-limit', 'shadow'), config: { folding: every } })
    const remaining = async () => {
      const response = await rig.chat({ temperature: 0.9 })
      await response.text()
      await viewOf(rig)
      return Number(response.headers.get('x-ratelimit-remaining-tokens'))
    }
    const [first, second] = [await remaining(), await remaining()]
    await using plain = await startFoldingRig({
      stages: stagesWith('rate-limit', 'shadow'),
      config: { folding: { shadow: { endToEndSample: 0 } } },
    })
    const alone = async () =>
      Number((await plain.chat({ temperature: 0.9 })).headers.get('x-ratelimit-remaining-tokens'))
    const [one, two] = [await alone(), await alone()]
    expect(Math.abs(first - second - (one - two))).toBeLessThan(50)
    const text = await (await fetch(`${rig.gateway.adminUrl}/metrics`)).text()
    expect(text).toMatch(/foldgate_requests_total\{route="chat",code="200",source="(runner|gateway)"\} [12]\n/)
  })

  it('are dropped and counted where there is no room, and no call waits for them (scenario 16)', async () => {
    await using rig = await startFoldingRig({
      stages: stagesWith('postprocess', 'shadow'),
      echo: { delayMs: 5, slots: 256 },
      config: { folding: { shadow: { endToEndSample: 1, maxInflight: 1 } } },
    })
    const answers = await Promise.all(Array.from({ length: 6 }, (_, seed) => rig.chat({ seed, temperature: 0.5 })))
    for (const answer of answers) expect(answer.status).toBe(200)
    const { dropped, pairs } = await viewOf(rig)
    expect(dropped.inflight).toBeGreaterThan(0)
    expect((dropped.inflight ?? 0) + (pairs['postprocess']?.ties ?? 0)).toBe(6)
  })
})
