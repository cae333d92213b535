import { expect, it } from 'vitest'
import { evidenceFrom } from '../rollout/evidence-merge.ts'
import { flush, viewOf } from '../rollout/test-evidence.ts'
import { createOverflow } from './overflow.ts'
import { hashOf } from './test-calls.ts'
import { createUnitMarks } from './unit-marks.ts'

const see = (marks: ReturnType<typeof createUnitMarks>, from: number, to: number, step: 'S1' | 'S2' = 'S1') => {
  for (let each = from; each < to; each++) {
    const unit = hashOf(each)
    marks.mark({ step, tier: 'free', arm: each % 10 === 0 ? 'canary' : 'control', unit, tenant: unit })
  }
}

it('more units than there is room for are sampled, and the estimate of how many there were stays right', () => {
  const overflow = createOverflow()
  const marks = createUnitMarks(overflow)
  see(marks, 0, 30_000)
  expect(marks.list().length).toBeLessThanOrEqual(4_096)
  expect(marks.share).toBe(0.125)
  expect(Math.abs(marks.list().length / marks.share / 30_000 - 1)).toBeLessThan(0.06)
  expect(overflow.counts).toEqual({})
})

it('units of a later step find room, however many came before', () => {
  const marks = createUnitMarks(createOverflow())
  see(marks, 0, 20_000)
  see(marks, 20_000, 22_000, 'S2')
  const late = marks.list().filter(({ step }) => step === 'S2')
  expect(Math.abs(late.length / marks.share / 2_000 - 1)).toBeLessThan(0.2)
})

it('of processes that sample differently the units are looked at that all of them would have marked', () => {
  const [many, few] = [createUnitMarks(createOverflow()), createUnitMarks(createOverflow())]
  see(many, 0, 30_000)
  see(few, 30_000, 33_000)
  const flushes = [many, few].map((marks, at) =>
    flush({ replica: String(at), boot: String(at), units: marks.list(), sampled: marks.share }),
  )
  const { units, sampled } = evidenceFrom(viewOf('S1'), flushes)
  expect(sampled).toBe(0.125)
  const seen = units.reduce((sum, { canary, control }) => sum + canary.units + control.units, 0)
  expect(Math.abs(seen / sampled / 33_000 - 1)).toBeLessThan(0.06)
})
