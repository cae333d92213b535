import { describe, expect, it } from 'vitest'
import { atLeast, atMost } from './binomial.ts'
import { type CompareOptions, compareWitness } from './compare.ts'
import type { ArmCounts, WitnessCounts } from './question.ts'

const arms = (native: [number, number, number], gateway: [number, number, number] = [9_000, 9, 0]): ArmCounts => {
  const [[calls, bad, fallbacks], [controls, controlBad, controlFallbacks]] = [native, gateway]
  return {
    native: { calls, bad, fallbacks },
    gateway: { calls: controls, bad: controlBad, fallbacks: controlFallbacks },
  }
}
const store = (given: ArmCounts): WitnessCounts => ({ arms: given, traces: 1, partial: false })
const verdict = (here: ArmCounts, there: ArmCounts, options?: CompareOptions) =>
  compareWitness(here, store(there), options)

describe('the binomial tails', () => {
  it('are those of tables', () => {
    expect(atMost(2, 10, 0.1)).toBeCloseTo(0.929_809, 6)
    expect(atLeast(3, 10, 0.1)).toBeCloseTo(0.070_191, 6)
    expect(atMost(50, 100, 0.5)).toBeCloseTo(0.539_795, 6)
    expect(atLeast(0, 10, 0.1)).toBe(1)
    expect(atLeast(1, 10, 0)).toBe(0)
    expect(atMost(9, 10, 1)).toBe(0)
  })

  it('add up, also where the chance of none is too small for a number', () => {
    expect(atMost(4_999, 10_000, 0.5) + atLeast(5_000, 10_000, 0.5)).toBeCloseTo(1, 9)
  })

  it('give the bounds of Clopper and Pearson: 0 of 30 leaves at most 11.57 % at 95 %', () => {
    expect(atMost(0, 30, 0.115_7)).toBeCloseTo(0.025, 3)
  })
})

describe('two witnesses', () => {
  it('agree when a tenth of the calls looks like all of them', () => {
    const answer = verdict(arms([1_000, 10, 20]), arms([100, 1, 2], [900, 1, 0]))
    expect(answer.verdict).toBe('agree')
    expect(answer.words).toBe(
      '100 sampled calls in the trace store fit the 1000 calls of the arm native counted here (10 bad, 20 fallbacks)',
    )
  })

  it('disagree when the store shows failures that were not counted', () => {
    const answer = verdict(arms([10_000, 20, 0]), arms([500, 15, 0], [900, 1, 0]))
    expect(answer).toEqual({
      verdict: 'disagree',
      words:
        'arm native: 3 % bad calls in the trace store (15 of 500 sampled calls), but 0.2 % counted here (20 of 10000)',
    })
  })

  it('disagree when fallbacks that were counted are not in the store', () => {
    const { verdict: said, words } = verdict(arms([10_000, 0, 1_000]), arms([500, 0, 5], [900, 1, 0]))
    expect([said, words]).toEqual(['disagree', expect.stringContaining('1 % fallbacks in the trace store (5 of 500')])
  })

  it('disagree over the control as well', () => {
    const { verdict: said, words } = verdict(arms([10_000, 0, 0]), arms([500, 0, 0], [900, 9, 0]))
    expect([said, words]).toEqual(['disagree', expect.stringMatching(/^arm gateway: /)])
  })

  it('disagree when a part holds more than the whole', () => {
    expect(verdict(arms([50, 0, 0]), arms([60, 0, 0])).words).toBe(
      'arm native: the trace store holds 60 calls, but only 50 were counted here',
    )
    expect(
      verdict(arms([1_000, 0, 0]), { ...arms([100, 0, 0], [10, 0, 0]), proving: { calls: 9, bad: 0, fallbacks: 0 } }),
    ).toMatchObject({
      verdict: 'disagree',
      words: expect.stringMatching(/^arm proving: the trace store holds 9 calls/),
    })
  })

  it('are not set at odds by calls at the edge of the window', () => {
    expect(verdict(arms([100, 0, 0]), arms([103, 1, 0], [9_000, 9, 0])).verdict).toBe('agree')
  })

  it('come to nothing with too few calls', () => {
    expect(verdict(arms([10_000, 0, 0]), arms([99, 0, 0], [900, 1, 0]))).toEqual({
      verdict: 'too-few',
      words: 'the trace store holds 99 of 10000 calls of the arm native; 100 are needed',
    })
    expect(verdict({}, {}).verdict).toBe('too-few')
  })

  it('do not compare proportions where failures are kept more often', () => {
    const here = arms([10_000, 100, 0])
    const kept = arms([500, 100, 0], [900, 9, 0])
    expect(verdict(here, kept).verdict).toBe('disagree')
    expect(verdict(here, kept, { sampling: 'tail' }).verdict).toBe('agree')
    expect(verdict(arms([10_000, 50, 0]), kept, { sampling: 'tail' })).toMatchObject({
      verdict: 'disagree',
      words: 'arm native: the trace store holds 100 bad calls, but only 50 were counted here',
    })
  })

  it('disagree by accident no more often than alpha says', () => {
    const random = seeded(7)
    let wrong = 0
    for (let run = 0; run < 2_000; run++) {
      // 2,000 calls, 1 % bad, of which a tenth is sampled.
      const calls = Array.from({ length: 2_000 }, () => ({ bad: random() < 0.01, kept: random() < 0.1 }))
      const count = (of: typeof calls) => ({ calls: of.length, bad: of.filter(({ bad }) => bad).length, fallbacks: 0 })
      const there = { native: count(calls.filter(({ kept }) => kept)) }
      if (verdict({ native: count(calls) }, there, { alpha: 0.01, edge: 0 }).verdict === 'disagree') wrong++
    }
    expect(wrong / 2_000).toBeLessThanOrEqual(0.01)
  })
})

/** Mulberry32: numbers between 0 and 1 from a seed. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
