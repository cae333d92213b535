import { describe, expect, it } from 'vitest'
import { dueInstants, histogramOf, overheadAt, overheadsOf } from './chain-figures.ts'
import type { ChainRound } from './chain-load.ts'
import { chainRows } from './chain-rows.ts'
import { chainNames } from './chain-subjects.ts'

describe('arrivals', () => {
  it('come at the rate asked for, unevenly, and again alike for the same seed', () => {
    const due = dueInstants({ rate: 100, calls: 20_000, seed: 7 })
    expect(due).toEqual(dueInstants({ rate: 100, calls: 20_000, seed: 7 }))
    expect(due.at(-1)! / 20_000).toBeCloseTo(10, 0)
    const gaps = due.map((at, index) => at - (due[index - 1] ?? 0))
    // Of a Poisson process the share 1 - 1/e of the gaps is shorter than the mean.
    expect(gaps.filter((gap) => gap < 10).length / gaps.length).toBeCloseTo(0.632, 1)
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(0)
  })
})

describe('overheads', () => {
  const engine = [1, 2, 3, 4]
  it('are the difference at the same quantile, not of the same call', () => {
    expect(overheadAt([14, 11, 13, 12], engine, 0.5)).toBe(10)
    expect(new Set(overheadsOf([14, 11, 13, 12], engine))).toEqual(new Set([10]))
  })
  it('are drawn in the row that they belong to, each column by itself', () => {
    const lines = histogramOf('title', [
      { name: 'one', values: [0.15, 0.15, 0.15, 4] },
      { name: 'two', values: [4, 4] },
      { name: 'none', values: [] },
    ]).split('\n')
    expect(lines[1]).toMatch(/one +two$/)
    expect(lines.find((line) => line.includes('0.1 – 0.2 ms'))).toMatch(/█{12} 75 %$/)
    expect(lines.find((line) => line.includes('3 – 5 ms'))).toMatch(/█{4} 25 % +█{12} 100 %$/)
  })
})

describe('rows', () => {
  const round = (ms: number): ChainRound => ({ latencies: [ms, ms, ms], failed: 0, lateP99: 0.3, cpuMs: 1 })
  const rounds = (chain: number, folded?: number) =>
    new Map([
      [chainNames.engine, [round(1)]],
      [chainNames.chain, [round(1 + chain)]],
      [chainNames.unfolded, [round(2)]],
      ...(folded === undefined ? [] : [[chainNames.folded, [round(1 + folded)]] as const]),
    ])
  const verdictOf = (plain: ReturnType<typeof rounds>, missing = {}) =>
    chainRows({ plain, whole: plain, missing, modelMs: 290 }).find(({ what }) => what.startsWith('chain ÷ folded'))

  it('twenty times less overhead passes, nineteen is a miss', () => {
    expect(verdictOf(rounds(10, 0.5))?.verdict).toBe('pass')
    expect(verdictOf(rounds(9.5, 0.5))?.verdict).toBe('miss')
  })
  it('an overhead that the client cannot tell from none makes no ratio without bounds', () => {
    expect(verdictOf(rounds(10, -0.01))?.reached).toBe('200 ×')
  })
  it('there is no verdict when something else used the machine', () => {
    const plain = rounds(10, 0.5).set(chainNames.engine, [{ ...round(1), lateP99: 3 }])
    expect(verdictOf(plain)).toMatchObject({
      verdict: 'skipped',
      reached: '20 ×',
      note: expect.stringContaining('something else'),
    })
  })
  it('a subject that is not there is skipped in words', () => {
    const row = verdictOf(rounds(10), { [chainNames.folded]: 'not available: there is no such case' })
    expect(row).toMatchObject({ verdict: 'skipped', reached: 'not available: there is no such case' })
  })
})
