import { describe, expect, it, vi } from 'vitest'
import { type FallbackReason, isEvidence } from '../../plugins/execution-context-fallback.ts'
import type { DecisionRecord } from '../../proxy/folding/rollout/decision-record.ts'
import { startFoldingRig } from '../e2e/folding-rig.ts'
import { until } from '../support/gate.ts'

vi.setConfig({ testTimeout: 60_000 })

const inShare = { folding: { policy: { stages: [100], tiers: [] } }, access: { debugScope: 'debug' } }
const say = (content: string): object => ({ messages: [{ role: 'user', content }] })
const schema = (inner: object): object => ({
  response_format: { type: 'json_schema', json_schema: { name: 'x', schema: inner } },
})

/** What two callers can make of their calls to have the runner look bad. */
const hostile: readonly object[] = [
  { execution_context: { debug_force_fallback: true } },
  { execution_context: { rate_limit: { tokens_per_minute: -1 } } },
  { execution_context: { nonsense: { deep: [1, 2, 3] } } },
  { execution_context: 'no object' },
  schema({ type: 'object', $dynamicRef: '#no', unevaluatedItems: false, 'x-unknown': {} }),
  schema({ $ref: 'https://example.com/elsewhere.json' }),
  schema({ type: 'string', pattern: '(a+)+$' }),
  { messages: 'no list' },
  { messages: [] },
  { max_tokens: -5 },
  { model: 'nobody-serves-this' },
  { temperature: 'hot' },
]

describe('two hostile tenants', () => {
  it('with forced fallbacks, wrong directives and schemas that nobody can check move no stage, and are no evidence (scenario 33)', async () => {
    await using rig = await startFoldingRig({ stages: { postprocess: 'canary' }, config: inShare })
    const statuses = new Set<number>()
    for (let round = 0; round < 2; round++) {
      for (const [index, body] of hostile.entries()) {
        for (const key of rig.keys) {
          const response = await rig.chat(
            { ...say(`hostile ${round} ${index}`), ...body },
            { authorization: `Bearer ${key}` },
          )
          await response.text()
          statuses.add(response.status)
        }
      }
      // Between them somebody whose calls are as they should be.
      const response = await rig.chat(say(`well ${round}`), { 'x-conversation-id': `well ${round}` })
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('well')])
    }
    expect([...statuses].filter((status) => status >= 500)).toEqual([])
    const record = async (): Promise<DecisionRecord | undefined> => {
      const answer = await fetch(`${rig.gateway.adminUrl}/-/evidence?layer=postprocess`)
      return ((await answer.json()) as { layers: Record<string, DecisionRecord> }).layers['postprocess']
    }
    const assigned = (of: DecisionRecord | undefined): number =>
      (of?.evidence.cells ?? []).reduce((sum, { canary }) => sum + canary.assigned, 0)
    await until(async () => assigned(await record()) >= 20, 'the calls are counted', 8_000)
    const { evidence, decision } = (await record()) as DecisionRecord
    const cells = evidence.cells.map(
      ({ canary: { bad, failed, mismatches, unknownVersions } }) => bad + failed + mismatches + unknownVersions,
    )
    expect(cells.reduce((sum, each) => sum + each, 0)).toBe(0)
    const reasons = evidence.cells.flatMap(({ canary }) => Object.keys(canary.fallbacks))
    expect(reasons.filter((reason) => isEvidence(reason as FallbackReason))).toEqual([])
    expect(evidence.places.flatMap(({ blown }) => blown)).toEqual([])
    expect(decision.kind).toBe('continue')
    expect(rig.gateway.setup().folding.stageOf('postprocess').stage).toBe('canary')
  })
})
