import { describe, expect, it } from 'vitest'
import { createRandom, gap } from '../../../test/support/random.ts'
import { meanRange } from '../../../test/support/sampling.ts'
import { callsBetweenRuns, createRunFuse } from './run-of-three.ts'

/** A fuse that has heard these calls: a unit's name in capitals is a bad call, in small letters a good one. */
function heard(calls: string): ReturnType<typeof createRunFuse> {
  const fuse = createRunFuse(0)
  for (const each of calls) fuse.hear({ unit: each.toLowerCase(), bad: each !== each.toLowerCase(), startedAt: 1 })
  return fuse
}

describe('a fuse on bad calls in a row', () => {
  it.each([
    ['three of two units blow it', 'ABA', true],
    ['two do not', 'AB', false],
    ['a good one between them starts it anew', 'ABaAB', false],
    ['four of one unit do not', 'AAAA', false],
    ['five of one unit do', 'AAAAA', true],
    ['three of one unit and then one of another do', 'AAAB', true],
    ['a second unit after two of the first does', 'AAB', true],
    ['it stays blown', 'ABAaaaa', true],
  ])('%s', (_, calls, blown) => {
    expect(heard(calls).blown).toBe(blown)
  })
  it('does not hear calls from before the layer was activated', () => {
    const fuse = createRunFuse(100)
    for (const unit of ['a', 'b', 'c']) fuse.hear({ unit, bad: true, startedAt: 99 })
    expect([fuse.run, fuse.blown]).toEqual([0, false])
  })
  it('can be made stricter', () => {
    const fuse = createRunFuse(0, { length: 2, ofOneUnit: 5 })
    for (const unit of ['a', 'b']) fuse.hear({ unit, bad: true, startedAt: 1 })
    expect(fuse.blown).toBe(true)
  })
})

describe('calls between runs of three', () => {
  it.each([
    [0.001, 1.0e9, 0.01],
    [0.005, 8.0e6, 0.01],
    [0.01, 1.01e6, 0.001],
    [0.02, 127_550, 1e-4],
    [0.05, 8_420, 1e-4],
    [0.1, 1_110, 1e-3],
    [0.3, 51, 0.02],
    [0.5, 14, 0.01],
    [0.8, 5, 0.05],
    [1, 3, 0],
  ])('at a rate of %d are %d', (rate, calls, within) => {
    expect(Math.abs(callsBetweenRuns(rate) / calls - 1)).toBeLessThanOrEqual(within)
  })
  it.each([0.05, 0.1, 0.3, 0.5, 0.8])('at a rate of %d are those of the real thing', (rate) => {
    const random = createRandom(31)
    const calls = Array.from({ length: 3_000 }, () => {
      const fuse = createRunFuse(0)
      let at = 0
      while (!fuse.blown) {
        const next = gap(random, rate)
        if (next > 1) fuse.hear({ unit: 'good', bad: false, startedAt: 1 })
        at += next
        fuse.hear({ unit: String(at), bad: true, startedAt: 1 })
      }
      return at
    })
    const [low, high] = meanRange(calls)
    expect(callsBetweenRuns(rate)).toBeGreaterThan(low)
    expect(callsBetweenRuns(rate)).toBeLessThan(high)
  })
})
