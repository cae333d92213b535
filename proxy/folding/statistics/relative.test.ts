import { describe, expect, it } from 'vitest'
import { percentile } from '../../../test/bench/figures.ts'
import { binomial, createRandom } from '../../../test/support/random.ts'
import { mostShare, quantileRange } from '../../../test/support/sampling.ts'
import {
  callsToDetect,
  defaultRatios,
  eventThreshold,
  logFewerEvidence,
  logRatios,
  logRelativeEvidence,
  type Stratum,
} from './relative.ts'
import { sprtVerdict } from './sprt.ts'
import { ramp, runRelative } from './test-runs.ts'
import { logMeanExp } from './trials.ts'

const test = { ratios: defaultRatios, tolerated: 1, alpha: 0.01 }

describe('evidence against the control', () => {
  it('is that of the formula', () => {
    const stratum = { canary: 100, control: 900, bad: 5, inCanary: 3 }
    const w = 0.1
    const byHand = defaultRatios.map((r) => {
      const theta = (r * w) / (r * w + 1 - w)
      return 3 * Math.log(theta / w) + 2 * Math.log((1 - theta) / (1 - w))
    })
    expect(logRelativeEvidence([stratum], test)).toBeCloseTo(logMeanExp(byHand), 12)
  })
  it('needs both arms: a stratum with one of them says nothing', () => {
    expect(logRelativeEvidence([{ canary: 10, control: 0, bad: 9, inCanary: 9 }], test)).toBe(0)
  })
  it('of strata from apart merges by adding', () => {
    const strata = [1, 2, 3].map((k) => ({ canary: 10 * k, control: 500, bad: k + 1, inCanary: k }))
    const [first, ...rest] = strata as [Stratum, ...Stratum[]]
    const apart = logRatios([first], test).map((sum, index) => sum + logRatios(rest, test)[index]!)
    logRatios(strata, test).forEach((sum, index) => {
      expect(sum).toBeCloseTo(apart[index]!, 10)
    })
  })
  it('is none while the canary is only as much worse as is tolerated', () => {
    const twice = [{ canary: 5_000, control: 5_000, bad: 30, inCanary: 20 }]
    expect(logRelativeEvidence(twice, { ...test, tolerated: 2 })).toBeLessThan(0)
    expect(logRelativeEvidence(twice, test)).toBeGreaterThan(0)
  })
  it('can be asked for fewer as well as for more', () => {
    const fewer = [{ canary: 1_000, control: 1_000, bad: 100, inCanary: 10 }]
    expect(logFewerEvidence(fewer, test)).toBeGreaterThan(eventThreshold(0.01))
    expect(logRelativeEvidence(fewer, test)).toBeLessThan(0)
  })
})

// canary's rate, control's rate, median calls of the canary, p90
const rows = [
  [0.005, 0.001, 1323, 3186],
  [0.003, 0.001, 4154, 9798],
  [0.01, 0.001, 377, 926],
  [0.01, 0.005, 2829, undefined],
  [0.02, 0.01, 1294, 2869],
  [0.015, 0.01, 5140, undefined],
] as const

describe.each(rows)(
  'a canary at %d beside a control at %d, over 300,000 calls at shares of 0.01, 0.1 and 0.5',
  (canary, control, median, p90) => {
    it(`is found after ${median} of its calls`, () => {
      const random = createRandom(Math.round(canary * 1e5))
      const calls = Array.from(
        { length: 600 },
        () => runRelative(random, ramp(300_000, { canary, control }), test).calls,
      )
      for (const [p, published] of [
        [0.5, median],
        [0.9, p90],
      ] as const) {
        if (published === undefined) continue
        const [low, high] = quantileRange(calls, p)
        expect(published, `quantile ${p} was ${percentile(calls, p)}`).toBeGreaterThanOrEqual(low)
        expect(published, `quantile ${p} was ${percentile(calls, p)}`).toBeLessThanOrEqual(high)
      }
    })
    it('is found about when the drift says', () => {
      const share = median < 1_000 ? 0.01 : median < 11_000 ? 0.1 : 0.5
      const ratio = callsToDetect({ canary, control }, share, test) / median
      expect(ratio).toBeGreaterThan(0.6)
      expect(ratio).toBeLessThan(1.7)
    })
  },
)

it('twice as bad as 0.1 % is found in about 96 % of rollouts', () => {
  const random = createRandom(2)
  const runs = Array.from({ length: 500 }, () =>
    runRelative(random, ramp(300_000, { canary: 0.002, control: 0.001 }), test),
  )
  const power = runs.filter(({ tripped }) => tripped).length / runs.length
  // Three standard errors at 500 runs and 96 %.
  expect(Math.abs(power - 0.96)).toBeLessThan(0.03)
  const [low, high] = quantileRange(
    runs.map(({ tripped, calls }) => (tripped ? calls : Infinity)),
    0.5,
  )
  expect(18_626).toBeGreaterThanOrEqual(low)
  expect(18_626).toBeLessThanOrEqual(high)
})

it.each([
  [0.01, 1275],
  [0.05, 1355],
  [0.1, 1489],
  [0.25, 1688],
  [0.5, 3163],
])('at a share of %d five times as bad as 0.001 is found after %d calls', (share, median) => {
  const random = createRandom(Math.round(share * 1000))
  const step = { share, calls: 40_000 / share, canary: 0.005, control: 0.001 }
  const calls = Array.from({ length: 1_000 }, () => runRelative(random, [step], test).calls)
  const [low, high] = quantileRange(calls, 0.5)
  expect(median, `the median was ${percentile(calls, 0.5)}`).toBeGreaterThanOrEqual(low)
  expect(median, `the median was ${percentile(calls, 0.5)}`).toBeLessThanOrEqual(high)
})

describe('false alarms', () => {
  it('are at most 1 % however often one looks', () => {
    const random = createRandom(3)
    const runs = 1_500
    const alarms = Array.from({ length: runs }, () =>
      runRelative(random, ramp(300_000, { canary: 0.001, control: 0.001 }), test),
    ).filter(({ tripped }) => tripped)
    expect(alarms.length / runs).toBeLessThan(mostShare(0.01, runs))
    // And it is no test that never trips.
    expect(alarms.length).toBeGreaterThan(0)
  })
  it('are at most 1 % while rates move and 6 % of five-minute windows are a common fault of 5 %', () => {
    const random = createRandom(4)
    const runs = 1_000
    let [alarms, absolute] = [0, 0]
    for (let run = 0; run < runs; run++) {
      const sums = defaultRatios.map(() => 0)
      let tripped = false
      const trials = { n: 0, x: 0 }
      let sprt = false
      for (let window = 0; window < 100; window++) {
        const share = window < 33 ? 0.01 : window < 66 ? 0.1 : 0.5
        const incident = random() < 0.06
        const rate = incident ? 0.05 : 0.001 * (1 + 4 * random())
        // The share that really fell to the canary, which sticky units make wander.
        const canary = Math.round(3_000 * share * (0.7 + 0.6 * random()))
        const inCanary = binomial(random, canary, rate)
        const bad = inCanary + binomial(random, 3_000 - canary, rate)
        logRatios([{ canary, control: 3_000 - canary, bad, inCanary }], test).forEach((log, index) => {
          sums[index]! += log
        })
        trials.n += canary
        trials.x += inCanary
        sprt ||= sprtVerdict(trials, { p0: 0.003, p1: 0.015, alpha: 0.01, beta: 0.1 }) === 'trip'
        tripped ||= logMeanExp(sums) >= eventThreshold(0.01)
      }
      if (tripped) alarms++
      if (sprt) absolute++
    }
    // The same incidents trip a test against a fixed rate, which is why both arms at once are a hold (F10).
    expect(absolute / runs).toBeGreaterThan(0.1)
    expect(alarms / runs).toBeLessThan(mostShare(0.01, runs))
  })
})
