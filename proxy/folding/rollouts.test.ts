import { describe, expect, it } from 'vitest'
import { binomial, createRandom, type Random } from '../../test/support/random.ts'
import { mostShare } from '../../test/support/sampling.ts'
import { type Decision, decide } from './rollout/decision.ts'
import type { Flush } from './rollout/evidence.ts'
import type { Cell } from './rollout/evidence-counts.ts'
import { evidenceFrom } from './rollout/evidence-merge.ts'
import { arm, began, cell, constantsOf, flush, marks, viewOf } from './rollout/test-evidence.ts'
import { createCusum } from './statistics/cusum.ts'

const constants = constantsOf('S1')
const minute = 60_000

/** How often calls are bad in each minute, in the canary and beside it. */
type Rates = (minute: number) => { readonly canary: number; readonly control: number }

/** A rollout in S1 of two replicas with 120 calls of the canary a minute each, looked at every minute until something is decided. */
function rollout(random: Random, rates: Rates): Decision & { minutes: number } {
  const cells: [Cell[], Cell[]] = [[], []]
  const cusums = [createCusum(constants.errors, constants.cusum), createCusum(constants.errors, constants.cusum)]
  for (let at = 1; ; at++) {
    const { canary, control } = rates(at)
    const now = began + at * minute
    const flushes = cells.map((mine, index): Flush => {
      const bad = binomial(random, 120, canary)
      cusums[index]!.add(120 - bad, bad)
      const beside = arm(1_080, { bad: binomial(random, 1_080, control), overQ95: 54, overQ99: 11 })
      mine.push(
        cell('S1', arm(120, { bad, overQ95: 6, overQ99: 1 }), beside, began + Math.floor((at - 1) / 5) * 5 * minute),
      )
      const replica = 'ab'[index]!
      const blown = cusums[index]!.tripped ? (['cusum'] as const) : []
      return flush({
        ...{ replica, seq: at, at: now, cells: mine, units: marks('S1', 60) },
        places: [{ kind: 'gateway', id: replica, ended: 120 * at, blown, waitingMs: [] }],
        coverage: { stream: 100 * at, 'non-stream': 20 * at },
      })
    })
    const decision = decide(evidenceFrom({ ...viewOf('S1'), replicas: ['a', 'b'] }, flushes), constants, now)
    if (decision.kind !== 'continue') return { ...decision, minutes: at }
  }
}

/** How many of so many rollouts ended how. */
function endings(runs: number, seed: number, rates: Rates): Record<string, number> {
  const random = createRandom(seed)
  const ends = Array.from({ length: runs }, () => rollout(random, rates))
  return Object.fromEntries(
    Object.entries(Object.groupBy(ends, ({ kind, fuse }) => (fuse ? `${kind} ${fuse}` : kind))).map(([end, all]) => [
      end,
      all!.length,
    ]),
  )
}

describe('rollouts that are decided every minute', () => {
  it('of a healthy layer are promoted', () => {
    const ended = endings(60, 81, () => ({ canary: 0.0005, control: 0.0005 }))
    // F4 and F11 may err in 1 % of rollouts each.
    expect(ended['promote']).toBeGreaterThanOrEqual(Math.floor(60 * (1 - mostShare(0.02, 60))))
  })
  it('of a layer that is bad in 2 % of its calls are taken back, and never promoted', () => {
    const ended = endings(60, 82, () => ({ canary: 0.02, control: 0.0005 }))
    expect((ended['rollback F4'] ?? 0) + (ended['rollback F11'] ?? 0)).toBe(60)
  })
  it('of a layer whose provider fails both arms for three minutes are held, and nobody is blamed (scenario 18)', () => {
    const ended = endings(40, 83, (at) =>
      at >= 3 && at <= 5 ? { canary: 0.1, control: 0.1 } : { canary: 0, control: 0 },
    )
    expect(ended).toEqual({ 'hold F10': 40 })
  })
})

it('a layer that breaks only after 20,000 good calls is found by the CUSUM within about 2,000 (scenario 19)', () => {
  const random = createRandom(84)
  const calls = Array.from({ length: 40 }, () => {
    const cusum = createCusum(constants.errors, constants.cusum)
    cusum.add(20_000, 0)
    for (let n = 100; ; n += 100) {
      const bad = binomial(random, 100, 0.01)
      cusum.add(100 - bad, bad)
      if (cusum.tripped) return n
    }
  })
  expect(calls.filter((n) => n <= 2_000).length).toBeGreaterThanOrEqual(38)
})
