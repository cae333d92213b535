import { expect, it } from 'vitest'
import { createTestHost } from '../../../test/support/host.ts'
import { recordedDecision } from '../../folding/rollout/decision-record.ts'
import { evidenceFrom } from '../../folding/rollout/evidence-merge.ts'
import { arm, cell, constantsOf, flush, later, viewOf } from '../../folding/rollout/test-evidence.ts'
import { countSpans } from './count.ts'
import type { ArmCounts, WitnessQuestion, WitnessSpan } from './question.ts'
import { createSecondWitness, type Promotion } from './second-witness.ts'
import type { Witness } from './witness.ts'

const cells = [
  cell('S2', arm(900, { bad: 2, fallbacks: { 'runner-error': 3, debug_force: 4 } }), arm(8_000, { bad: 9 })),
]
const record = recordedDecision(evidenceFrom(viewOf('S2'), [flush({ cells })]), constantsOf('S2'), later)
const promotion: Promotion = { layer: 'prompt', stage: 'canary', record }

/** A second witness whose store says these verdicts in turn; what it was asked, and what was held. */
function asking(...verdicts: readonly ('agree' | 'disagree' | 'too-few')[]) {
  const host = createTestHost()
  const asked: [WitnessQuestion, ArmCounts][] = []
  const held: string[] = []
  const witness: Witness = {
    ask: () => Promise.reject(new Error('not asked')),
    async compare(...question) {
      asked.push(question)
      return { verdict: verdicts[asked.length - 1] ?? 'agree', words: 'w' }
    },
  }
  const hold = async (layer: string, reason: string) => void held.push(`${layer}: ${reason}`)
  return { second: createSecondWitness({ witness, service: 's', log: host.log, hold }), asked, held, host }
}
const answered = () => new Promise((done) => setImmediate(done))

it('is asked once a step, beside the decisions, and then allows what it agrees with', async () => {
  const { second, asked, host } = asking('agree')
  expect([second.allows(promotion), second.allows(promotion)]).toEqual([false, false])
  await answered()
  expect([second.allows(promotion), asked.length]).toEqual([true, 1])
  expect(host.lines[0]?.message).toBe('the second witness agrees')
})

it('is asked for this rollout, stage and time, with what was counted of both arms', async () => {
  const { second, asked } = asking('agree')
  second.allows(promotion)
  expect(asked[0]).toEqual([
    {
      ...{ service: 's', layer: 'prompt', rollout: 'r1', stage: 'canary', arm: 'proving' },
      ...{ fromMs: record.evidence.startedAt, toMs: later },
    },
    { proving: { calls: 900, bad: 2, fallbacks: 3 }, shadow: { calls: 8_000, bad: 9, fallbacks: 0 } },
  ])
})

it('holds the layer where it disagrees, and is asked anew once somebody lets the layer go', async () => {
  const { second, asked, held } = asking('disagree', 'agree')
  second.allows(promotion)
  await answered()
  expect(held).toEqual(['prompt: the second witness disagrees: w'])
  expect(second.allows(promotion)).toBe(false)
  await answered()
  expect([second.allows(promotion), asked.length]).toEqual([true, 2])
})

it('stops nothing where it holds too few calls, and the log says so', async () => {
  const { second, host } = asking('too-few')
  second.allows(promotion)
  await answered()
  expect(second.allows(promotion)).toBe(true)
  expect(host.lines).toMatchObject([{ level: 'warn', message: 'promoted without a second witness' }])
})

it('counts what fell back in the arm that it was drawn into, and nobody who chose a side', () => {
  const question = { service: 's', layer: 'prompt', rollout: 'r1', stage: 'canary', fromMs: 0, toMs: 9 }
  const span = (id: string, given: Record<string, unknown> = {}): WitnessSpan => ({
    ...{ id, startMs: 1, failed: false },
    attributes: {
      'foldgate.rollout': 'r1',
      'foldgate.stage': 'canary',
      'foldgate.arm': 'shadow',
      'foldgate.layer.prompt.status': 'evaporation-started',
      ...given,
    },
  })
  const fellBack = {
    'foldgate.layer.prompt.status': 'fallback',
    'foldgate.layer.prompt.reason': 'runner-error',
  }
  const spans = [span('1'), span('2', fellBack), span('3', { 'foldgate.chosen': true })]
  expect(countSpans(spans, { ...question, arm: 'proving' })).toEqual({
    shadow: { calls: 1, bad: 0, fallbacks: 0 },
    proving: { calls: 1, bad: 0, fallbacks: 1 },
  })
})
