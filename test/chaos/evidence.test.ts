import { describe, expect, it, vi } from 'vitest'
import { decide } from '../../proxy/folding/rollout/decision.ts'
import type { Evidence } from '../../proxy/folding/rollout/evidence.ts'
import { noShadow } from '../../proxy/folding/rollout/evidence-counts.ts'
import { constantsDigest } from '../../proxy/folding/rollout/stage-constants.ts'
import {
  arm,
  cell,
  constantsOf,
  healthyEvidence,
  later,
  shadowEvidence,
  viewOf,
} from '../../proxy/folding/rollout/test-evidence.ts'
import { createRandom, type Random } from '../support/random.ts'
import { mostShare } from '../support/sampling.ts'

vi.setConfig({ testTimeout: 60_000 })

/** Triples of whole answers while the noise of the engine rises with its load, looked at every 200; the new way is the old one. */
function alarms(random: Random, changed: number): boolean {
  const constants = constantsOf('S1')
  const counts = { worse: 0, better: 0, ties: 0 }
  for (let triple = 1; triple <= 2_000; triple++) {
    const noise = 0.02 + 0.13 * (triple / 2_000)
    const [again, fresh] = [random() < noise, random() < noise + changed]
    counts[again === fresh ? 'ties' : fresh ? 'worse' : 'better']++
    if (triple % 200 > 0) continue
    const evidence = healthyEvidence({ shadow: { ...noShadow, ...counts } })
    if (decide(evidence, constants, later).fuse === 'F11') return true
  }
  return false
}

describe('noise that rises with the load, from 2 % to 15 %', () => {
  const share = (changed: number, runs: number): number => {
    const random = createRandom(30)
    return Array.from({ length: runs }, () => alarms(random, changed)).filter(Boolean).length / runs
  }
  it('looks like a change of the answers in no more than one rollout of a hundred (scenario 30)', () => {
    expect(share(0, 100)).toBeLessThanOrEqual(mostShare(0.01, 100))
  })
  it('hides no change of one answer in seven (scenario 30)', () => {
    expect(share(0.15, 20)).toBe(1)
  })
})

describe('what nobody has compared or covered', () => {
  const gap = (more: Partial<Evidence>) => {
    const constants = constantsOf('S3')
    const view = { ...viewOf('S3'), constantsDigest: constantsDigest(constants) }
    const cells = [cell('S3', arm(8_000), arm(8_000))]
    const units = healthyEvidence().units.map((each) => ({ ...each, step: 'S3' as const }))
    return decide({ ...healthyEvidence(), ...view, cells, units, ...more }, constants, later)
  }
  const strata = { stream: 9_000, 'non-stream': 900, 'size-large': 300 }
  const seen = { units: 60, tenants: 60, strata }
  it('stands in the way: prompts that are too long to be looked at leave a gap that is named (scenario 28)', () => {
    const { kind, reason } = gap({ seen, coverage: { stream: 5_000, 'non-stream': 500, 'size-large': 0 } })
    expect([kind, reason]).toEqual(['continue', 'open: coverage:size-large'])
  })
  it('no longer once it is covered (scenario 28)', () => {
    expect(gap({ seen, coverage: { stream: 5_000, 'non-stream': 500, 'size-large': 50 } }).kind).toBe('promote')
  })
  it('nor is a shadow left that skipped too much of it (scenario 28)', () => {
    const evidence = shadowEvidence()
    const shadow = { ...evidence.shadow, skipped: 200 }
    expect(decide({ ...evidence, shadow }, constantsOf('shadow'), later).reason).toBe('open: compared')
  })
})
