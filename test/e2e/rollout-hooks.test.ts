import { describe, expect, it } from 'vitest'
import type { DecisionRecord } from '../../proxy/folding/rollout/decision-record.ts'
import { isFaithful } from '../../proxy/folding/rollout/decision-record.ts'
import type { AnalysisDocument } from '../../proxy/outside/hooks/analysis.ts'
import { until } from '../support/gate.ts'
import { type FoldingRig, startFoldingRig } from './folding-rig.ts'

const inShare = { folding: { policy: { stages: [100] } } }
const look = async <T>({ gateway }: FoldingRig, path: string): Promise<T> =>
  (await (await fetch(gateway.adminUrl + path)).json()) as T
const analysisOf = async (rig: FoldingRig, query = ''): Promise<AnalysisDocument['data']> =>
  (await look<AnalysisDocument>(rig, `/-/analysis?layer=postprocess${query}`)).data
const evidenceOf = async (rig: FoldingRig): Promise<DecisionRecord | undefined> =>
  (await look<{ layers: Record<string, DecisionRecord> }>(rig, '/-/evidence?layer=postprocess')).layers['postprocess']
const flagger = ({ gateway }: FoldingRig, hook: string): Promise<Response> =>
  fetch(`${gateway.adminUrl}/-/analysis/${hook}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'runner', namespace: 'llm', phase: 'Progressing', metadata: {} }),
  })

describe('a layer in canary, asked about from outside', () => {
  it('is inconclusive while it has too little evidence, and fails once it was rolled back', async () => {
    await using rig = await startFoldingRig({ stages: { postprocess: 'canary' }, config: inShare })
    for (let call = 0; call < 5; call++)
      await (await rig.chat({ messages: [{ role: 'user', content: `call ${call}` }] })).text()
    await until(
      async () => (await analysisOf(rig)).samples === 5,
      () => 'five calls are counted',
    )
    const { evidenceAgeSeconds, ...said } = await analysisOf(rig)
    expect(said).toMatchObject({
      ...{ layer: 'postprocess', value: 0, ok: false, verdict: 'inconclusive', stage: 'canary', weight: 100 },
      ...{
        samples: 5,
        successPercent: 1,
        why: expect.stringMatching(/^5 of \d+ calls seen; open: calls, /),
      },
    })
    expect(evidenceAgeSeconds).toBeLessThan(300)
    expect((await flagger(rig, 'rollout')).status).toBe(200)
    const waits = await flagger(rig, 'confirm-promotion')
    expect([waits.status, await waits.text()]).toEqual([403, expect.stringContaining('5 of ')])
    expect((await flagger(rig, 'rollback')).status).toBe(403)
    await rig.move('postprocess', 'rollback')
    expect(await analysisOf(rig)).toMatchObject({ value: -1, verdict: 'fail', why: 'it is rolled-back: a test' })
    expect((await flagger(rig, 'rollback')).status).toBe(200)
  })

  it('shows the whole record of its last decision, which comes to the same when it is replayed', async () => {
    await using rig = await startFoldingRig({ stages: { postprocess: 'canary' }, config: inShare })
    await (await rig.chat()).text()
    await until(
      async () => (await evidenceOf(rig)) !== undefined,
      () => 'a decision was made',
    )
    const record = await evidenceOf(rig)
    expect(record?.decision.gates.map(({ name }) => name)).toContain('calls')
    expect(record && isFaithful(record)).toBe(true)
    const none = await fetch(`${rig.gateway.adminUrl}/-/evidence?layer=nope`)
    expect(none.status).toBe(404)
    expect(await look(rig, '/-/evidence?layer=cache')).toEqual({ layers: {} })
  })
})
