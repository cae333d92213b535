import { describe, expect, it } from 'vitest'
import { percentile } from '../../../test/bench/figures.ts'
import { createRandom, gap, type Random } from '../../../test/support/random.ts'
import { mostShare, quantileRange } from '../../../test/support/sampling.ts'
import { logSignEvidence, pairsToDetect } from './paired-sign.ts'
import { eventThreshold } from './relative.ts'

interface Pairs {
  /** How often two answers of the old path differ. */
  readonly noise: number
  /** How often the new path's answer is another one because of what changed. */
  readonly changed: number
}

/** After how many pairs it trips; infinity: not within `most`. */
function pairsToTrip(random: Random, { noise, changed }: Pairs, most: number): number {
  const worse = (noise + changed - noise * changed) * (1 - noise)
  const better = noise * (1 - noise) * (1 - changed)
  const counts = { worse: 0, better: 0 }
  for (let at = gap(random, worse + better); at <= most; at += gap(random, worse + better)) {
    if (random() * (worse + better) < worse) counts.worse++
    else counts.better++
    if (logSignEvidence(counts) >= eventThreshold(0.01)) return at
  }
  return Number.POSITIVE_INFINITY
}

// noise, changed, median pairs, p90
const rows = [
  [0, 0.002, 4339, 6570],
  [0, 0.01, 861, 1274],
  [0, 0.05, 171, 264],
  [0, 0.2, 44, 62],
  [0.01, 0.01, 3028, 6198],
  [0.01, 0.05, 235, 474],
  [0.01, 0.2, 48, undefined],
  [0.05, 0.01, 11_669, 25_984],
  [0.05, 0.05, 594, 1176],
  [0.05, 0.2, 65, undefined],
  [0.2, 0.05, 2354, 4766],
  [0.2, 0.2, 154, 296],
  [0.5, 0.2, 477, 993],
] as const

describe('the paired sign test', () => {
  it.each(rows)('at noise %d finds %d more differences after %d pairs', (noise, changed, median, p90) => {
    const random = createRandom(Math.round(1e4 * noise + 1e5 * changed))
    const pairs = Array.from({ length: 1_200 }, () => pairsToTrip(random, { noise, changed }, 60_000))
    for (const [p, published] of [
      [0.5, median],
      [0.9, p90],
    ] as const) {
      if (published === undefined) continue
      const [low, high] = quantileRange(pairs, p)
      expect(published, `quantile ${p} was ${percentile(pairs, p)}`).toBeGreaterThanOrEqual(low)
      expect(published, `quantile ${p} was ${percentile(pairs, p)}`).toBeLessThanOrEqual(high)
    }
  })
  it.each([
    [0.6, 325],
    [0.55, 1308],
  ])('finds that the new path is further off in %d of pairs after at most %d', (theta, pairs) => {
    expect(Math.abs(pairsToDetect(theta, 0.01) - pairs)).toBeLessThan(1.5)
    const random = createRandom(9)
    const sample = Array.from({ length: 600 }, () => {
      const counts = { worse: 0, better: 0 }
      for (let at = 1; ; at++) {
        if (random() < theta) counts.worse++
        else counts.better++
        if (logSignEvidence(counts) >= eventThreshold(0.01)) return at
      }
    })
    // Neighbouring alternatives help, so it takes a little less: the formula is a bound, not the median.
    expect(percentile(sample, 0.5)).toBeLessThan(pairs)
    expect(percentile(sample, 0.5)).toBeGreaterThan(0.7 * pairs)
  })
  it.each([0.01, 0.05, 0.2, 0.5])('at noise %d and no change trips in at most one rollout of a hundred', (noise) => {
    const random = createRandom(11)
    const runs = 1_500
    // Long enough for 400 triples that are no ties.
    const most = 400 / (2 * noise * (1 - noise))
    const alarms = Array.from({ length: runs }, () => pairsToTrip(random, { noise, changed: 0 }, most))
    expect(alarms.filter(Number.isFinite).length / runs).toBeLessThan(mostShare(0.01, runs))
  })
  it('needs no evidence to say that nothing was seen', () => {
    expect(logSignEvidence({ worse: 0, better: 0 })).toBe(0)
  })
})
